/** `aegis audit`: reports who may do what, what is trusted, and what should be tightened. */

import { auditLevels } from "../../../contract/audit.ts";
import { auditPage } from "../../format/audit-page.ts";
import { tableOptions } from "../../format/columns.ts";
import type { Handler } from "../../program/command.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { daemonCommands } from "./spec.ts";

export const audit: Handler<typeof daemonCommands.audit> = async (cx, args) => {
  // The given level and the levels above it.
  const fails = args.failOn === undefined ? [] : auditLevels.slice(0, auditLevels.indexOf(args.failOn) + 1);
  const answer = await cx.call("audit");
  cx.show(answer, () => auditPage(answer.audit, tableOptions(cx)));
  return answer.audit.findings.some(({ level }) => fails.includes(level)) ? exitCodes.failed : exitCodes.ok;
};
