import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { daemonSuite } from "./support/suite.ts";

daemonSuite(gemini, opencode);
