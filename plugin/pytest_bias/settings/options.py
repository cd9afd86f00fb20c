"""Table of all options of a run.

The command, the pytest plugin, the environment and the settings file are derived from it. It
imports the standard library only, because pytest reads it in every run of every project.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pytest_bias.environment import FILE_NAME, SUITE_FILE

PROFILES: Final = {
    "quick": "a sample of every suite",
    "standard": "whole suites, except long generation",
    "full": "everything",
}
"""How much of each suite a profile runs; the size of the quick sample is in `engine.sampling`."""
DTYPES: Final = ("auto", "float32", "tf32", "bfloat16", "float16")
CHAT: Final = ("auto", "on", "off")
ANSWERS: Final = ("auto", "letters", "text")
BASELINES: Final = ("base", "published")
"""Words that name a baseline; they are never read as a path."""

ENGINES: Final = {
    "local": "one model after the other",
    "ray": "on a cluster (pip install 'pytest-bias[ray]')",
}
"""Engines that run the models of a list."""

OptionType: TypeAlias = Literal[
    "text",
    "texts",
    "pairs",
    "path",
    "path-or-name",
    "path-or-address",
    "text-or-path",
    "flag",
    "number",
    "budget",
]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting, in all the places where it can be set.

    Parameters
    ----------
    name : str
        Field of `Settings`.
    flag : str
        Name after ``--`` on the command line, and after ``--bias-`` under pytest.
    type : str
        Kind of value; ``texts`` may be given several times, and so may ``pairs`` (NAME=VALUE, a
        table in the settings file).
    help : str
        Help text, in one line.
    choices : tuple of str
        Allowed values, if they are few.
    of_tests : bool
        Whether pytest has it too; a test session measures one model.
    """

    name: str
    flag: str
    type: OptionType
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    of_tests: bool = True

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return f"PYTEST_BIAS_{self.name.upper()}"


OPTIONS: Final = (
    Option(
        "suites",
        "suite",
        "texts",
        f"Suite: NAME, NAME[CONFIG], @TAG or a file *{SUITE_FILE}.",
        "NAME",
    ),
    Option("languages", "language", "texts", "Language of the texts, such as en.", "TAG"),
    Option(
        "profile",
        "profile",
        "text",
        f"How much to run: {'; '.join(f'{name}, {what}' for name, what in PROFILES.items())}.",
        choices=tuple(PROFILES),
    ),
    Option(
        "budget",
        "budget",
        "budget",
        "Limit for the whole run: time (10m); of servers and applications also 500calls, or 5USD "
        "where the settings state a cost; or several, with commas. Samples say what fitted.",
        "TIME|CALLS|MONEY",
    ),
    Option("device", "device", "text", "auto, cpu, or cuda:0.", "DEVICE"),
    Option("devices", "devices", "text", "Split the run: all GPUs, or cuda:0,cuda:1.", "DEVICES"),
    Option("device_map", "device-map", "text", "Split the model over GPUs.", choices=("auto",)),
    Option("dtype", "dtype", "text", "Precision of the weights.", choices=DTYPES),
    Option("chat", "chat", "text", "Use the model's chat template.", choices=CHAT),
    Option("system", "system", "text-or-path", "System text before every chat turn.", "TEXT|FILE"),
    Option(
        "answers",
        "answers",
        "text",
        "How options are chosen: by the probabilities of their letters, or in generated text.",
        choices=ANSWERS,
    ),
    Option(
        "answer_tokens",
        "answer-tokens",
        "number",
        "Longest answer in generated text; reasoning models need thousands.",
        "N",
    ),
    Option(
        "answer_samples",
        "answer-samples",
        "number",
        "Answers in generated text per question and order of its options: 1 is greedy, more are "
        "sampled.",
        "N",
    ),
    Option(
        "scorers",
        "scorer",
        "pairs",
        "Classifier that scores generated text, such as toxicity=org/name.",
        "ROLE=MODEL",
    ),
    Option("data_dir", "data-dir", "path", "Folder with your own copies of the data.", "DIR"),
    Option("out", "out", "path-or-address", "Folder for the report and the badges.", "DIR"),
    Option(
        "junit",
        "junit",
        "path",
        "Also write what was measured and decided as JUnit XML, for test results of CI.",
        "FILE",
        of_tests=False,
    ),
    Option("config", "config", "path", f"Settings file; by default {FILE_NAME}.", "FILE"),
    Option(
        "baseline",
        "baseline",
        "path-or-name",
        f"Compare with a report, a model (measured first), {' or '.join(BASELINES)}.",
        "REPORT|MODEL",
    ),
    Option(
        "models",
        "models",
        "path",
        "Measure every model of a file, one per line; --out is a folder, or an address such as "
        "s3://bucket/folder.",
        "FILE",
        of_tests=False,
    ),
    Option(
        "engine",
        "engine",
        "text",
        f"What runs --models: {'; '.join(f'{name}, {what}' for name, what in ENGINES.items())}.",
        choices=tuple(ENGINES),
        of_tests=False,
    ),
    Option(
        "ray_address",
        "ray-address",
        "text",
        "Cluster that --engine ray uses: auto, or host:port; default: this machine only.",
        "ADDRESS",
        of_tests=False,
    ),
    Option("first_run", "first-run", "flag", "Expect no baseline: do not check regressions."),
    Option("seed", "seed", "number", "Random seed of samples and intervals.", "N"),
    Option("fresh", "fresh", "flag", "Replace the results in the output folder."),
    Option("offline", "offline", "flag", "Do not use the network."),
    Option(
        "allow_missing_data",
        "allow-missing-data",
        "flag",
        "Do not fail if the data of a suite are unavailable.",
    ),
    Option("shard", "shard", "text", "Measure one of several parts; merge joins them.", "2/8"),
    Option("show_items", "show-items", "flag", "Show item texts, which are offensive by design."),
    Option("with_texts", "with-texts", "flag", "Keep item texts in the records."),
    Option("withhold_scores", "withhold-scores", "flag", "Show that tests ran, without scores."),
    Option("trust_remote_code", "trust-remote-code", "flag", "Run code that comes with the model."),
    Option("allow_pickle", "allow-pickle", "flag", "Load pickled weights, which can run code."),
)
