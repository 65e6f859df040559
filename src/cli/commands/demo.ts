/** `aegis demo`: a short tour with the offline agent. Everything it claims is checked from the outside. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "../../contract/session.ts";
import { systemClock } from "../../lib/clock.ts";
import { isSameProcess } from "../../lib/daemon-file.ts";
import { exitCodes } from "../context.ts";
import { type Asked, Stage } from "../demo/stage.ts";
import { CliError } from "../failure.ts";
import { sessionTable } from "../format/session-table.ts";
import { createStyle, type Style } from "../format/style.ts";
import { plainText, wrap } from "../format/text.ts";
import type { Terminal } from "../terminal.ts";

/** Time to read, for people only. */
const pauseMs = 1_500;

export async function demo(cx: Terminal, args: { keep: boolean }): Promise<number> {
  const tour = new Tour(cx);
  const stage = await Stage.create(cx);
  const undo = cx.onStop(() => {
    void stage.close(args.keep).finally(() => cx.leave(exitCodes.interrupted));
  });
  try {
    await play(tour, stage);
    tour.end();
    return exitCodes.ok;
  } catch (error) {
    if (cx.json) cx.printJson({ ok: false, steps: tour.done, failed: tour.current });
    const what = error instanceof Error ? error.message : String(error);
    throw new CliError(exitCodes.failed, `the demo went wrong at "${tour.current}": ${what}`);
  } finally {
    await stage.close(args.keep);
    undo();
    if (!cx.json)
      cx.print(args.keep ? `The folder is kept: ${stage.root}` : "The daemon is stopped and the folder is gone.");
  }
}

async function play(tour: Tour, stage: Stage): Promise<void> {
  await tour.step("A project and its daemon", [
    "One daemon per project owns all agents. This one runs the offline agent: it",
    "follows a script, so no model, no key and no network are needed.",
  ]);
  const daemon = await stage.start();
  const status = await stage.client.call("status");
  expectThat(status.offline, "the demo must run on the offline agent");
  tour.show(`${stage.root}`, `daemon ${status.version}, pid ${daemon.pid}, ${daemon.url}`);

  await tour.step("Two agents work at the same time", [
    "The scout lists the files, the counter counts what is left to do.",
  ]);
  const asked = await Promise.all([stage.ask("scout", "list files"), stage.ask("counter", "count todos")]);
  for (const one of asked) tour.say(one.session, await answerOf(stage, one));
  const [files = "", todos = ""] = await Promise.all(asked.map((one) => answerOf(stage, one)));
  expectThat(files.includes("src/oven.ts"), "the scout must have listed src/oven.ts");
  expectThat(/\b3\b/.test(todos), "the counter must have found 3 TODOs");

  await tour.step("One agent hands work to another", [
    "The writer writes a report and hands it to the editor, who is woken by it.",
  ]);
  const { session: editor } = await stage.client.call("createSession", { body: { agent: "editor" } });
  const writer = await stage.ask("writer", `hand the report to ${editor.handle}`);
  tour.say(writer.session, await answerOf(stage, writer));
  const report = await readFile(join(stage.root, "aegis-report.md"), "utf8");
  expectThat(report.includes("src/orders.ts"), "the report on disk must name src/orders.ts");
  tour.say(editor, await answerOf(stage, await handedOver(stage, editor, writer.session)));

  await tour.step("The daemon is killed in the middle of a turn", [
    "The narrator tells a story slowly. While it writes, its daemon gets kill -9.",
  ]);
  const narrator = await stage.ask("narrator", "tell a slow story");
  tour.say(narrator.session, `${await stage.writing(narrator)} ✂`);
  const before = await openHandles(stage);
  const pid = await stage.kill();
  expectThat(!isSameProcess(daemon), `pid ${daemon.pid} must be gone`);
  tour.show(`kill -9 ${pid}: the daemon is gone, and nobody could say goodbye.`);

  await tour.step("It comes back with everything", ["A new daemon takes up every session and the work that was cut."]);
  const restarted = await stage.start();
  expectThat(restarted.pid !== pid, "a new process must be running");
  const { sessions } = await stage.client.call("listSessions");
  tour.show(`new daemon, pid ${restarted.pid}`, ...tour.table(sessions));
  const after = await openHandles(stage);
  expectThat(after.join() === before.join(), `the same sessions must be open: ${before.join(", ")}`);
  const story = await answerOf(stage, narrator);
  tour.say(narrator.session, story);
  expectThat(story.includes("The end."), "the story must have been told to its end");
}

async function answerOf(stage: Stage, asked: Asked): Promise<string> {
  const turn = await stage.answer(asked);
  expectThat(
    turn.reason === "completed",
    `the turn of ${asked.session.handle} must complete, it ended as ${turn.reason}`,
  );
  return turn.text;
}

/** The message that came from the writer: it is the daemon's word, not the writer's. */
async function handedOver(stage: Stage, editor: SessionView, writer: SessionView): Promise<Asked> {
  const { messages } = await stage.client.call("listMessages", { path: { session: editor.id } });
  const found = messages.find(({ sender }) => sender.kind === "agent" && sender.session === writer.id);
  if (found === undefined) throw new Error(`nothing from ${writer.handle} arrived at ${editor.handle}`);
  return { session: editor, message: found.id };
}

async function openHandles(stage: Stage): Promise<string[]> {
  const { sessions } = await stage.client.call("listSessions");
  return sessions.map((session) => session.handle).sort();
}

function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Tells what happens, step by step. */
class Tour {
  readonly done: string[] = [];
  current = "the start";
  readonly #cx: Terminal;
  readonly #style: Style;

  constructor(cx: Terminal) {
    this.#cx = cx;
    this.#style = createStyle(cx.color);
  }

  async step(title: string, explanation: readonly string[]): Promise<void> {
    if (this.done.length > 0 || this.current !== "the start") this.done.push(this.current);
    if (this.#cx.interactive && this.done.length > 0) await systemClock.sleep(pauseMs);
    this.current = title;
    if (this.#cx.json) return;
    this.#cx.print(this.#style.bold(`${this.done.length + 1}. ${title}`));
    for (const line of explanation) this.#cx.print(`   ${line}`);
  }

  show(...lines: readonly string[]): void {
    if (!this.#cx.json) for (const line of lines) this.#cx.print(this.#style.dim(`   ${line}`));
  }

  say(session: SessionView, text: string): void {
    if (this.#cx.json) return;
    const who = `${session.agent} · ${session.handle} (offline)`;
    this.#cx.print(`   ${this.#style.cyan(who)}`);
    const width = Math.min(this.#cx.columns, 100) - 6;
    for (const line of wrap(plainText(text).trim(), width)) this.#cx.print(`   │ ${line}`);
  }

  table(sessions: readonly SessionView[]): string[] {
    return sessionTable(sessions, { color: false, width: this.#cx.columns - 3, now: systemClock.now() });
  }

  end(): void {
    this.done.push(this.current);
    if (this.#cx.json) {
      this.#cx.printJson({ ok: true, steps: this.done });
      return;
    }
    this.#cx.print(this.#style.green(`All ${this.done.length} steps happened as told, checked from the outside.`));
    this.#cx.print("Your turn: aegis init, then aegis chat.");
  }
}
