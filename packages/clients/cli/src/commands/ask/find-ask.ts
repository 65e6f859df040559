/** Resolves which ask an answer is for, and parses the answer. An answer applies only to the ask that was shown. */
import type { Client } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { isId } from "@aegis/contract/ids.ts";
import { handlePattern } from "@aegis/contract/session.ts";
import { actionLine, actionLines, questionLines, shortAskId } from "../../format/ask-view.ts";
import type { Style } from "../../format/style.ts";
import { fitLine, visibleLine } from "../../format/visible.ts";
import { CliError, usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";

const listed = 20;

/** Text that begins with one of the options chooses it; the rest is the reason. Other text answers an open question. */
export async function answerAsk(client: Client, ask: Ask, text: string, via: string): Promise<Ask> {
  const choice = choiceIn(ask, text);
  if (choice === undefined && ask.options.length > 0) {
    throw usageError(
      `"${visibleLine(text)}" is not one of the choices`,
      `choices: ${visibleLine(ask.options.join(", "))}`,
    );
  }
  const { ask: settled } = await client.call("answerAsk", {
    path: { ask: ask.id },
    // The digest ties the answer to the action that was shown, even if the ask has changed since.
    body: { choice: choice ?? null, text: text.slice(choice?.length ?? 0).trim(), digest: ask.digest, via },
  });
  return settled;
}

/** A denial causes no action, so it needs no confirmation. */
export function letsHappen(ask: Ask, text: string): boolean {
  return choiceIn(ask, text) !== "deny";
}

export function choicesOf(ask: Ask): string {
  return ask.options.length === 0 ? "(any text)" : visibleLine(ask.options.join("|"));
}

/** The recorded answer in full: the action, the choice, and the digest that ties them together. */
export function echoLines(ask: Ask, text: string, style: Style): string[] {
  const who = ask.origin?.handle ?? ask.session;
  const what = ask.tool === null ? questionLines(ask, "  ", style) : [`  ${visibleLine(ask.tool)}`];
  return [
    `answered ${shortAskId(ask.id)} of ${who}: ${visibleLine(text)}`,
    ...what,
    ...actionLines(ask, style),
    style.dim(`  ask ${ask.id}, digest ${ask.digest}`),
  ];
}

/**
 * True if the word refers to an ask or a session and is not an answer. Both a handle and an answer may be a single
 * word: a choice of an open ask is always the answer; any other single word is a handle only if an open session has it.
 */
export function isReference(word: string, open: readonly Ask[], handles: readonly string[]): boolean {
  if (/^(?:ask|ses)_/.test(word)) return true;
  if (open.some((ask) => ask.options.includes(word))) return false;
  const isHandle = word.includes("-") ? handlePattern.test(word) : handles.includes(word);
  return isHandle || byShortId(word, open).length > 0;
}

/** Finds an ask by id, by the end of the id of an open ask, or by a session with exactly one open ask. */
export async function findAsk(client: Client, reference: string, status: "open" | "all" = "open"): Promise<Ask> {
  if (isId("ask", reference)) return (await client.call("getAsk", { path: { ask: reference } })).ask;
  if (reference.startsWith("ask_")) throw usageError(`"${reference}" is not an ask's id`, "aegis asks lists them");
  const { asks } = await client.call("listAsks", { query: { status, limit: 1000 } });
  const open = asks.filter((ask) => ask.status === "open");
  const named = byShortId(reference, asks);
  if (named.length > 0) return only(named, `several asks end in "${reference}"`);
  const { session } = await client.call("getSession", { path: { session: reference } }).catch((error: unknown) => {
    if (!isAegisError(error) || error.code !== "not_found") throw error;
    throw new CliError(exitCodes.failed, `no ask and no session "${visibleLine(reference)}"`, {
      hint:
        open.length === 0 ? "no ask is open; aegis asks --all lists earlier ones" : "aegis asks lists the open ones",
      cause: error,
    });
  });
  const own = open.filter((ask) => ask.session === session.id);
  if (own.length === 0) throw new AegisError("not_found", `${session.handle} asks nothing`);
  return only(own, `${session.handle} has several open asks`);
}

/** The only open ask of all sessions. */
export async function onlyAsk(client: Client): Promise<Ask> {
  const { asks: open } = await client.call("listAsks", { query: { limit: 1000 } });
  if (open.length === 0) throw new AegisError("not_found", "no ask is open");
  return only(open, `${open.length} asks are open; which one?`);
}

/** Throws if there is more than one. */
export function only(asks: readonly Ask[], problem: string): Ask {
  const [first, ...more] = asks;
  if (first !== undefined && more.length === 0) return first;
  throw usageError([problem, ...askList(asks)].join("\n"), "put its id before the answer");
}

/** One line per ask: short id, session, action. */
export function askList(asks: readonly Ask[]): string[] {
  const lines = asks.slice(0, listed).map((ask) => {
    const what = fitLine(actionLine(ask), 80, `aegis ask show ${shortAskId(ask.id)}`);
    return `  ${shortAskId(ask.id)}  ${ask.origin?.handle ?? ask.session}  ${what}`;
  });
  return asks.length > listed ? [...lines, `  … and ${asks.length - listed} more: aegis asks`] : lines;
}

export function byShortId(word: string, open: readonly Ask[]): Ask[] {
  return /^[0-9a-z]{4,26}$/.test(word) ? open.filter(({ id }) => id.endsWith(word)) : [];
}

function choiceIn(ask: Ask, text: string): string | undefined {
  return ask.options.find((option) => option === text) ?? ask.options.find((option) => text.startsWith(`${option} `));
}
