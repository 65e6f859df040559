import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { daemonSuite } from "./support/suite.ts";

daemonSuite(claudeCode, codex);
