import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { daemonSuite } from "./support/suite.ts";

daemonSuite(codex, gemini);
