"""What the server says, as Structs: the only definition of the page's data, under one name.

``tools/generate_api_types.py`` writes the page's TypeScript types from them. No value is computed
here, and nothing here knows where a value comes from.
"""

from __future__ import annotations

from canvass.browser.api_base import *  # noqa: F403 - all of them, under one name
from canvass.browser.api_explanations import *  # noqa: F403
from canvass.browser.api_graphs import *  # noqa: F403
from canvass.browser.api_reports import *  # noqa: F403
from canvass.browser.api_runs import *  # noqa: F403
