/** `aegis land`: lands the work of a session on a branch, and lists landings. */
import type { ApiOutput } from "@aegis/contract/api.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { mergeQueueName } from "@aegis/contract/landing.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import { tableOptions } from "../../format/columns.ts";
import { landWords } from "../../format/event-line.ts";
import { landingTable } from "../../format/landing-table.ts";
import { oneLine, plainText } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { landCommands } from "./spec.ts";

export const land: Handler<typeof landCommands.land> = async (cx, args) => {
  const { session, check, message, to } = args;
  if (session === undefined) return list(cx);
  const ways = (["squash", "merge", "rebase"] as const).filter((way) => args[way]);
  if (ways.length > 1) throw usageError(`--${ways.join(" and --")} exclude each other`);
  const body = {
    how: ways[0] ?? ("squash" as const),
    ...(check === undefined ? {} : { check }),
    ...(message === undefined ? {} : { message }),
    ...(to === undefined ? {} : { to }),
  };
  const { queue } = await cx.call("getQueue", { path: { queue: mergeQueueName } });
  if (queue.paused) cx.warn(`${mergeQueueName} is paused: the landing waits until it is resumed`);
  const answer = await cx.call("landSession", { path: { session }, body }).catch((error: unknown) => {
    throw isAegisError(error) && error.code === "unavailable" ? interrupted(session, error) : error;
  });
  const { state, target, next, files, detail, receipt } = answer.landing;
  cx.show(answer, () => [
    `${session}: ${landWords[state]} ${target}${state === "landed" ? ` as ${next?.slice(0, 12)}` : ""}`,
    ...(receipt === null ? [] : [oneLine(receiptWords(receipt))]),
    ...files.map((file) => `  ${oneLine(file)}`),
    ...(detail === null ? [] : plainText(detail).split("\n")),
  ]);
  return state === "landed" || state === "nothing" ? exitCodes.ok : exitCodes.failed;
};

/** The daemon answered before, so the landing may be stored. */
function interrupted(session: string, cause: AegisError): AegisError {
  return new AegisError("unavailable", `lost the connection to the daemon while ${session} was landing`, {
    hint: "a landing that the daemon had accepted continues when it runs again: aegis up, then aegis land",
    cause,
  });
}

async function list(cx: Terminal): Promise<void> {
  const answer: ApiOutput<"listLandings"> = await cx.call("listLandings");
  const none = "Nothing was landed yet.";
  cx.show(answer, () => (answer.landings.length === 0 ? none : landingTable(answer.landings, tableOptions(cx))));
}
