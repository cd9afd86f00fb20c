"""README.md files as they are found on the Hub, by what is particular about each."""

from typing import Final

BODY: Final = "\n# My model\n\nA *small* model. See [the paper](https://example.org/a_b).\n"

LONG_TABLE: Final = "\n| a | b |\n| --- | --- |\n" + "".join(
    f"| row {i} | {'x' * 40} |\n" for i in range(3000)
)

FOREIGN: Final = """\
model-index:
- name: my-model
  results:
  - task:
      type: fill-mask
      name: Masked language modelling
    dataset:
      name: WikiText   # not the raw one
      type: wikitext
      config: 'wikitext-2-v1'
    metrics:
    - type: perplexity
      value: 12.50
"""

INDENTED: Final = """\
model-index:
  - name: my-model
    results:
      - task:
          type: text-generation
        dataset:
          type: ai2_arc
          name: "AI2 Reasoning Challenge (25-Shot)"
          config: ARC-Challenge
          split: test
          args:
            num_few_shot: 25
        metrics:
          - type: acc_norm
            value: 59.81
            name: normalized accuracy
        source:
          url: https://huggingface.co/spaces/open-llm-leaderboard
          name: Open LLM Leaderboard
      # the next one is preliminary
      - task: {type: text-generation}
        dataset: {type: hellaswag, name: HellaSwag}
        metrics: [{type: acc_norm, value: !!float 80}]
license: apache-2.0
"""

WIDE: Final = """\
model-index:
-   name: my-model
    results:
    -   task:
            type: text-classification
        dataset:
            type: glue
            name: GLUE
            config: mnli
        metrics:
        -   type: accuracy
            value: 0.83
"""

OURS: Final = """\
model-index:
- name: org/name
  results:
  - task:
      type: fill-mask
    dataset:
      type: wikitext
      name: WikiText
    metrics:
    - type: perplexity
      value: 12.5
  - task:
      type: fill-mask
      name: Social bias, intrinsic
    dataset:
      type: nyu-mll/crows_pairs
      name: CrowS-Pairs en
      config: crows_pairs-en
      revision: 0000000
    metrics:
    - type: stereotype_preference
      name: stereotype preference (ideal 50)
      value: 66.6
    source:
      url: https://huggingface.co/org/name/blob/main/bias/000000000000/report.json
      name: pytest-bias report
  # measured by hand
  - task:
      type: fill-mask
    dataset:
      type: other
      name: Other
    metrics:
    - type: accuracy
      value: .nan
tags: [a, b]
"""

MIXED: Final = """\
model-index:
- name: org/name
  results:
  - task:
      type: fill-mask
    dataset:
      type: nyu-mll/crows_pairs
      name: CrowS-Pairs en
      config: crows_pairs-en
    metrics:
    - type: kept_by_others
      value: 1
    - type: stereotype_preference
      value: 66.6
    - type: kept_too   # by hand
      value: 2
  - task:
      type: fill-mask
    dataset:
      type: wikitext
      name: WikiText
    metrics:
    - type: perplexity
      value: 12.5
"""

JSON: Final = """\
[
  {"name": "my", "results": [
    {"task": {"type": "t"}, "dataset": {"type": "d", "name": "yes"},
     "metrics": [{"type": "m", "value": 1}]}]}
]"""
"""Results as some tools write them, in JSON, which is YAML too."""


def front(metadata: str, body: str = BODY) -> str:
    """Return a card with front matter."""
    return f"---\n{metadata}---\n{body}"


TEXTS: Final[dict[str, str]] = {
    "plain": front("language: en\nlicense: mit\n"),
    "comments": front("# of the card\nlanguage: en  # British\n\n# last\nlicense: mit\n# end\n"),
    "anchors": front("tags: &t [a, b]\nother: *t\nbase: &b {x: 1}\nmore:\n  <<: *b\n  y: 2\n"),
    "no front matter": "# My model\n\nText.\n",
    "a rule further down": "# My model\n\nText.\n\n---\n\nMore: text\n\n---\n",
    "empty": "",
    "only front matter": "---\nlicense: mit\n---\n",
    "only front matter, no final newline": "---\nlicense: mit\n---",
    "empty front matter": "---\n---\n# My model\n",
    "front matter of a blank line": "---\n\n---\n# My model\n",
    "empty front matter and a rule": "---\n---\n# My model\n\nText.\n\n---\n\nMore.\n",
    "front matter of a comment": front("# nothing yet\n"),
    "no final newline": front("license: mit\n", "\n# My model"),
    "datasets null": front("datasets: null\nlicense: mit\n"),
    "datasets empty": front("datasets:\nmetrics:\nlicense: mit\n"),
    "duplicate keys": front("license: mit\ntags:\n- a\nlicense: apache-2.0\n"),
    "very long table": front("license: mit\n", LONG_TABLE),
    "emoji": front("license: mit\ntitle: 🤗 model 👩\u200d💻\n", "\n# 🤗 模型 — نموذج\n"),
    "quotes": front(
        "title: 'it''s'\nabout: \"a\\tb: c\"\nversion: 1.10\ndate: 2024-01-01\nanswer: no\n"
    ),
    "literal at the end": front("license: mit\nabout: |\n  first\n\n  second\n"),
    "kept line breaks at the end": front("license: mit\nabout: |+\n  first\n\n\n"),
    "folded": front("about: >-\n  first\n  second\nlicense: mit\n"),
    "widget": front('widget:\n- text: "The [MASK] is --- here."\n  example_title: A\n'),
    "tabs": front("license: mit\nabout: |\n  a\tb\n#\ta\n", "\n\tcode\n"),
    "blank lines first": "\n\n---\nlicense: mit\n---\n# My model\n",
    "trailing blanks behind the dashes": "---\nlicense: mit\n---  \n# My model\n",
    "document start": "---\n---\nlicense: mit\n---\n# My model\n",
    "indented keys": "---\n  license: mit\n  tags:\n  - a\n---\n# My model\n",
    "two newlines at the end": front("license: mit\n", "\n# My model\n\n\n"),
    "html": front("license: mit\n", "\n<p align='center'><img src='a.png'></p>\n<!-- note -->\n"),
    "index null": front("model-index: null  # later\nlicense: mit\n"),
    "index without value": front("model-index:  # later\nlicense: mit\n"),
    "index empty": front("license: mit\nmodel-index: []\n"),
    "results empty": front("model-index:\n- name: a\n  results: []\nlicense: mit\n"),
    "foreign results": front(f"license: mit\n{FOREIGN}tags:\n- a\n"),
    "foreign results, last": front(f"license: mit\n{FOREIGN}"),
    "foreign results, indented": front(INDENTED),
    "foreign results, wide": front(f"{WIDE}\n# end\nlicense: mit\n"),
    "foreign results in brackets": front(
        "model-index: [{name: my, results: [{task: {type: t}, dataset: {type: d, name: D}, "
        "metrics: [{type: m, value: 1}]}]}]\nlicense: mit\n"
    ),
    "results as json": front(f"model-index: {JSON}\nlicense: mit\n"),
    "a literal ends the results": front(
        f"{FOREIGN}      name: |\n        two\n\n        lines\nlicense: mit\n"
    ),
    "several entries": front(f"{FOREIGN}- name: org/name\n  results: []\nlicense: mit\n"),
    "a result by alias": front(
        "shared: &r\n  task: {type: t}\n  dataset: {type: d, name: D}\n  metrics:\n  - type: m\n"
        "    value: 1\nmodel-index:\n- name: my\n  results:\n  - *r\n"
    ),
    "our older results among others": front(OURS),
    "our older results, twice": front(
        OURS.replace(
            "# measured by hand\n",
            "# measured by hand\n"
            + "".join(OURS.partition("value: 12.5\n")[2].partition("  # measured")[0]),
        )
    ),
    "our older results shared with others": front(MIXED),
    "our section": front(
        "license: mit\n",
        "\n# My model\n\n<!-- pytest-bias:begin -->\nold\n<!-- pytest-bias:end -->\n\n## Use\n",
    ),
    "our section, last and unfinished": front(
        "license: mit\n", "\n<!-- pytest-bias:begin -->\nold\n<!--  pytest-bias:end -->"
    ),
    "markers in a sentence": front(
        "license: mit\n", "\nPut `<!-- pytest-bias:begin -->` and `<!-- pytest-bias:end -->`.\n"
    ),
}

CARDS: Final[dict[str, bytes]] = {
    **{name: text.encode() for name, text in TEXTS.items()},
    **{
        f"CRLF, {name}": TEXTS[name].replace("\n", "\r\n").encode()
        for name in (
            *("plain", "no front matter", "foreign results", "foreign results, indented"),
            *("our section", "our older results among others", "index null", "literal at the end"),
        )
    },
    **{
        f"BOM, {name}": b"\xef\xbb\xbf" + TEXTS[name].encode()
        for name in ("plain", "no front matter", "foreign results", "our section")
    },
    "CRLF in the body alone": b"---\nlicense: mit\n---\n# My model\r\n\r\nText.\r\n",
    "CRLF in the front matter alone": b"---\r\nlicense: mit\r\n---\r\n# My model\n",
}
