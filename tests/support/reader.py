"""A page as a browser reads it."""

from html.parser import HTMLParser


class Reader(HTMLParser):
    """Collects tags with attributes, the text of the body, and whether elements nest."""

    VOID = ("meta", "link", "br", "wbr", "path")
    LINES = ("title", "h1", "h2", "h3", "h4", "p", "li", "dd", "tr", "summary", "svg", "label")
    CELLS = ("th", "td", "dt")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.words += ["\n"] * (tag in self.LINES) + ["\t"] * (tag in self.CELLS)

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def lines(self) -> str:
        """The text by paragraphs and rows of tables, and below it the words of the pictures."""
        found = [
            " ".join(line.replace("\t", " | ").split()).removesuffix(" |")
            for line in " ".join(self.words).split("\n")
        ]
        return "\n".join([*filter(None, found), *(a["aria-label"] or "" for a in self.all("svg"))])

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [a for tag, a in self.tags if tag == name]
