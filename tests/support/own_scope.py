"""The scope card of suites that tests write."""

from typing import Final

SCOPE: Final = """
scope:
  summary: Of two sentences, which one is likelier?
  groups: women and men
  harm_type: representation
  data_origin: written for this test
  made_by: nobody in particular
  licence: Apache-2.0
  known_defects: [Few pairs show little.]
  does_not_show: Anything at all about people.
""".lstrip()
"""As YAML, to stand behind the data; no column of its own."""
