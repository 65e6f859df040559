import { claudeCode } from "./support/harnesses/claude-code.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { daemonSuite } from "./support/suite.ts";

daemonSuite(opencode, claudeCode);
