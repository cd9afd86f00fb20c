"""The points of Annex IV of Regulation (EU) 2024/1689, in its order and in our words.

Source: Official Journal of the European Union, L, 2024/1689, 12 July 2024. A test holds numbers and
subjects fixed.
"""

from dataclasses import dataclass
from typing import Final

from pytest_bias.emit.exports.annex_iv.document import Missing


@dataclass(frozen=True, slots=True)
class Point:
    """A point, or a part of one, with what only the provider can write."""

    number: str
    title: str
    missing: tuple[Missing, ...] = ()
    name: str = ""
    """Name of a part that has no number."""

    @property
    def level(self) -> int:
        """Level of its heading."""
        return 2 if self.number.isdigit() else 3

    @property
    def key(self) -> str:
        """Its number, or its name."""
        return self.number or self.name


def _all(*texts: str) -> tuple[Missing, ...]:
    return tuple(map(Missing, texts))


POINTS: Final = (
    Point("1", "General description of the AI system"),
    Point(
        "1(a)",
        "Intended purpose, provider and version",
        _all("how this version relates to earlier versions"),
    ),
    Point(
        "1(b)",
        "Interaction with other hardware, software and AI systems",
        _all("how the system interacts with hardware and software that are not part of it"),
    ),
    Point(
        "1(c)",
        "Versions of software and firmware",
        _all("the versions of software or firmware of the system, and what updates require"),
    ),
    Point(
        "1(d)",
        "Forms in which it is placed on the market or put into service",
        _all("the forms in which the system is provided (package, download, API, built in)"),
    ),
    Point(
        "1(e)",
        "Hardware that it is intended to run on",
        _all("the hardware that the system is intended to run on"),
    ),
    Point(
        "1(f)",
        "Appearance, marking and layout of products that it is part of",
        _all("photographs or illustrations, if the system is a component of products"),
    ),
    Point(
        "1(g)",
        "User interface for the deployer",
        _all("a basic description of the user interface for the deployer"),
    ),
    Point(
        "1(h)",
        "Instructions for use",
        _all("the instructions for use for the deployer"),
    ),
    Point("2", "Elements of the AI system and how it was developed"),
    Point(
        "2(a)",
        "Methods and steps of development, and what was taken from third parties",
        _all(
            "the methods and steps by which the system was developed",
            "which pre-trained systems and tools of third parties were used, and how they were "
            "integrated or modified",
        ),
    ),
    Point(
        "2(b)",
        "Design specifications",
        _all(
            "the general logic of the system and of its algorithms",
            "the key design choices with their reasons and assumptions, also on the persons or "
            "groups that it is intended for",
            "the main classification choices, what the system is designed to optimise, and the "
            "relevance of its parameters",
            "the expected output of the system and its quality",
            "decisions on trade-offs made to meet the requirements of Chapter III, Section 2",
        ),
    ),
    Point(
        "2(c)",
        "System architecture and computational resources",
        _all(
            "how the software components build on one another, and the place of the measured model "
            "among them",
            "the computational resources used to develop and train the system",
        ),
    ),
    Point(
        "2(d)",
        "Data requirements and training data",
        _all(
            "the training methods and the training data: description, provenance, scope and main "
            "characteristics",
            "how the data were obtained and selected, labelled and cleaned",
        ),
    ),
    Point(
        "2(e)",
        "Assessment of human oversight (Article 14)",
        _all("the assessment of the human oversight measures, and of help to interpret outputs"),
    ),
    Point(
        "2(f)",
        "Pre-determined changes",
        _all("changes that were determined in advance, if any, and how compliance continues"),
    ),
    Point(
        "2(g)",
        "Validation and testing",
        _all(
            "tests of the system as a whole in its intended use, with their data",
            "metrics of accuracy in the intended task, and of compliance with other requirements "
            "of Chapter III, Section 2",
            "test reports on changes determined in advance, if there are any",
        ),
    ),
    Point("2(h)", "Cybersecurity", _all("the cybersecurity measures put in place")),
    Point("3", "Monitoring, functioning and control of the AI system"),
    Point(
        "",
        "Capabilities and limitations in performance",
        _all(
            "the capabilities and limitations of the system in its intended use",
            "the overall level of accuracy expected for the intended purpose",
        ),
        name="capabilities",
    ),
    Point(
        "",
        "Accuracy for persons and groups",
        _all("the accuracy of the system in its task for the groups that it is intended for"),
        name="groups",
    ),
    Point(
        "",
        "Foreseeable unintended outcomes and sources of risk",
        _all(
            "the foreseeable unintended outcomes, and the sources of risk to health and safety, "
            "fundamental rights and of discrimination, in view of the intended purpose"
        ),
        name="risks",
    ),
    Point(
        "",
        "Human oversight (Article 14)",
        _all(
            "the human oversight measures, with the technical ones that help to interpret outputs"
        ),
        name="oversight",
    ),
    Point(
        "",
        "Specifications of input data",
        _all("the specifications of input data, as appropriate"),
        name="inputs",
    ),
    Point("4", "Appropriateness of the performance metrics"),
    Point(
        "5",
        "Risk management system (Article 9)",
        _all("a detailed description of the risk management system"),
    ),
    Point(
        "6",
        "Changes through the lifecycle",
        _all("a description of relevant changes that the provider made to the system"),
    ),
    Point(
        "7",
        "Harmonised standards and other specifications applied",
        _all(
            "the harmonised standards applied in full or in part; where none are, the solutions "
            "adopted to meet Chapter III, Section 2, with other standards and specifications"
        ),
    ),
    Point(
        "8",
        "EU declaration of conformity (Article 47)",
        _all("a copy of the EU declaration of conformity"),
    ),
    Point(
        "9",
        "Post-market performance evaluation (Article 72)",
        _all("the system that evaluates performance after marketing, with the monitoring plan"),
    ),
)
