/** `aegis sandbox accept`: a person lets the present settings decide, although programs were confined more before. */
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import type { Handler } from "../../program/command.ts";
import { askConsent } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { sandboxCommands } from "./spec.ts";

export const sandboxAccept: Handler<typeof sandboxCommands.accept> = async (cx, { yes }) => {
  const { sandboxRecord } = await import("@aegis/project/sandbox-record.ts");
  const record = await sandboxRecord({ root: findProjectRoot(cx.cwd), env: cx.env });
  const levels = await record.read();
  const subjects = Object.entries(levels);
  if (subjects.length === 0) {
    cx.show({ ok: true, accepted: {} }, ["Nothing has run confined here, so there is nothing to accept."]);
    return exitCodes.ok;
  }
  cx.tell(subjects.map(([subject, level]) => `  ${subject}: ran at least at ${level}`));
  const question = "Let the present settings decide, also where they confine less?";
  await askConsent(cx, { yes, question, otherwise: "nothing was accepted" });
  await record.forget();
  cx.show({ ok: true, accepted: levels }, ["Accepted. The settings decide from now on."]);
  return exitCodes.ok;
};
