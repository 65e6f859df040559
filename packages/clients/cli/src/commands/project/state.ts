/** `aegis state`: shows who owns the state in a folder, and lets a person adopt it or move it aside. */
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import type { Style } from "../../format/style.ts";
import { plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { askConsent, askYesNo } from "../../terminal/confirm.ts";
import type { CliContext } from "../../terminal/context.ts";
import type { stateCommands } from "./state-spec.ts";

/** The number of items of each kind shown at first, and the maximum. */
const shownItems = 20;
const mostItems = 100_000;

export const stateShow: Handler<typeof stateCommands.show> = async (cx, args) => {
  const { owner, place } = await ownerOf(cx, findProjectRoot(cx.cwd));
  if (owner.owner !== "unknown") {
    const own = owner.owner === "you" ? `${owner.adopted ? "adopted" : "created"} ${owner.since}` : "";
    const none = `There is no state in ${place.root}.`;
    const told = owner.owner === "none" ? none : `The state in ${place.root} is yours, ${own}.`;
    return cx.show({ project: place.root, ...owner }, told);
  }
  const { lookIntoState } = await import("@aegis/project/state/decide.ts");
  const contents = await lookIntoState(place.root, args.all ? mostItems : shownItems);
  cx.show({ project: place.root, ...owner, ...contents }, () => {
    tell(cx, place.root, owner.message, contents);
    return "Use it with `aegis state adopt`, or move it aside with `aegis state set-aside`. Nothing in it runs until then.";
  });
};

export const stateAdopt: Handler<typeof stateCommands.adopt> = async (cx, args) => {
  const { owner, place } = await ownerOf(cx, findProjectRoot(cx.cwd));
  if (owner.owner !== "unknown") {
    const told = owner.owner === "none" ? `There is no state in ${place.root}.` : "The state is already yours.";
    return cx.show({ ok: true, adopted: false, project: place.root, ...owner }, told);
  }
  const { adoptState, cannotAdopt, lookIntoState } = await import("@aegis/project/state/decide.ts");
  const contents = await lookIntoState(place.root, shownItems);
  tell(cx, place.root, owner.message, contents);
  if (contents.problem !== null) throw cannotAdopt(place.root, contents.problem);
  const hint = "inspect it with `aegis state show`, then agree with --yes --digest <digest>";
  await askConsent(cx, { yes: args.yes, question: adoptQuestion, otherwise: "nothing was adopted", hint });
  await adoptState(place, args.digest ?? contents.digest);
  cx.show(
    { ok: true, adopted: true, project: place.root, digest: contents.digest },
    "The state is now yours. The next daemon continues with it.",
  );
};

export const stateSetAside: Handler<typeof stateCommands.setAside> = async (cx) => {
  const { setStateAside, statePlace } = await import("@aegis/project/state/decide.ts");
  const place = await statePlace(findProjectRoot(cx.cwd), cx.env);
  const path = await setStateAside(place);
  cx.show(
    { ok: true, project: place.root, set_aside: path },
    path === null ? `There is no state in ${place.root}.` : asideText(path),
  );
};

/**
 * For a command whose daemon refused the state: a person at a terminal decides; without a terminal the command fails.
 * Returns when the daemon can be started again.
 */
export async function decideState(cx: CliContext, folder: string): Promise<void> {
  const { owner, place } = await ownerOf(cx, folder);
  // Another command decided in the meantime.
  if (owner.owner !== "unknown") return;
  const { UnknownStateError } = await import("@aegis/project/state/judge.ts");
  const refusal = new UnknownStateError(place.root, owner);
  if (!cx.interactive) throw refusal;
  const { adoptState, lookIntoState, setStateAside } = await import("@aegis/project/state/decide.ts");
  const contents = await lookIntoState(place.root, shownItems);
  tell(cx, place.root, owner.message, contents);
  if (contents.problem === null && (await askYesNo(cx, adoptQuestion, false)) === true) {
    await adoptState(place, contents.digest);
    return;
  }
  if ((await askYesNo(cx, "Move it aside and start with empty state?", false)) !== true) throw refusal;
  const path = await setStateAside(place);
  if (path !== null) cx.print(asideText(path));
}

const adoptQuestion = "Adopt this state? Its pending work starts immediately.";

function asideText(path: string): string {
  return `The state is now in ${path}; nothing is lost. The next daemon starts with empty state.`;
}

function tell(cx: CliContext, root: string, message: string, contents: Parameters<typeof contentsLines>[0]): void {
  const head = `The state in ${root} is not known to be yours: ${message}. Its contents:`;
  cx.tell([head, ...contentsLines(contents, cx.style)]);
}

async function ownerOf(cx: CliContext, folder: string) {
  const { stateOwner, statePlace } = await import("@aegis/project/state/decide.ts");
  const place = await statePlace(folder, cx.env);
  return { place, owner: await stateOwner(place) };
}

type StateContents = Awaited<ReturnType<typeof import("@aegis/project/state/decide.ts")["lookIntoState"]>>;

/** Characters that control a terminal or reorder its text. */
const acting = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** The text on one line, with every such character escaped. */
function writtenOut(text: string): string {
  return text.replace(acting, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The content of a state that may come from a third party. */
function contentsLines(contents: StateContents, style: Style): string[] {
  const { digest, problem, waiting, files } = contents;
  const lines: string[] = [];
  for (const { kind, total, items } of waiting) {
    if (total === 0) continue;
    lines.push(`  ${style.bold(kind)}: ${total}`);
    for (const { id, title, text } of items) {
      lines.push(`    ${style.cyan(writtenOut(title))} ${style.dim(writtenOut(id))}`);
      if (text !== "" && text !== title) lines.push(`      ${writtenOut(text)}`);
    }
    if (items.length < total)
      lines.push(`    and ${plural(total - items.length, "more", "more")}: aegis state show --all`);
  }
  if (digest !== null && problem === null && lines.length === 0) lines.push("  It has no pending work.");
  if (problem !== null) lines.push(style.red(`  The database cannot be used: ${writtenOut(problem)}.`));
  if (files.length > 0) lines.push(`  Other files: ${files.map(writtenOut).join(", ")}`);
  if (digest !== null) lines.push(`  Digest of the database: ${digest}`);
  return lines;
}
