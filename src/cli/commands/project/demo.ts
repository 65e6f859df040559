/** `aegis demo`: a short tour with the offline agent. It verifies each of its claims over the API and on disk. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "../../../contract/session.ts";
import { isSameProcess } from "../../../lib/daemon-file.ts";
import type { Handler } from "../../program/command.ts";
import { type Asked, Stage } from "./demo-stage.ts";
import { expectThat, playTour, type Tour } from "./demo-tour.ts";
import type { projectCommands } from "./spec.ts";

export const demo: Handler<typeof projectCommands.demo> = async (cx, args) => {
  if (args.cluster) return (await import("./demo-cluster.ts")).demoCluster(cx, args.keep);
  const next = "Your turn: aegis init, then aegis chat.";
  await playTour(cx, await Stage.create(cx), { keep: args.keep, next, play });
};

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
    "The writer writes a report and hands it to the editor, which starts work on it.",
  ]);
  const { session: editor } = await stage.client.call("createSession", { body: { agent: "editor" } });
  const writer = await stage.ask("writer", `hand the report to ${editor.handle}`);
  tour.say(writer.session, await answerOf(stage, writer));
  const report = await readFile(join(stage.root, "aegis-report.md"), "utf8");
  expectThat(report.includes("src/orders.ts"), "the report on disk must name src/orders.ts");
  tour.say(editor, await answerOf(stage, await handedOver(stage, editor, writer.session)));

  await tour.step("The daemon is killed in the middle of a turn", [
    "The narrator writes a story slowly. Meanwhile the daemon is killed with kill -9.",
  ]);
  const narrator = await stage.ask("narrator", "tell a slow story");
  tour.say(narrator.session, `${await stage.writing(narrator)} ✂`);
  const before = await openHandles(stage);
  const pid = await stage.kill();
  expectThat(!isSameProcess(daemon), `pid ${daemon.pid} must be gone`);
  tour.show(`kill -9 ${pid}: the daemon is gone, without a clean stop.`);

  await tour.step("It comes back with everything", ["A new daemon resumes every session and the interrupted work."]);
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

/** The message from the writer, as recorded by the daemon. */
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
