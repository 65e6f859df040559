/** Every key of every action, typed into the virtual terminal in each encoding, has the effect that its action names. */

import type { Client } from "@aegis/client/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { headline } from "@aegis/contract/headline.ts";
import { busyModel, busyRows } from "@aegis/test/helpers/busy-team.ts";
import { keyBytes } from "@aegis/test/helpers/key-bytes.ts";
import { type MemoryApp, memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleSessions, withNeeds } from "@aegis/test/helpers/sample-team.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { createKeymap } from "../src/main.ts";
import type { Model } from "../src/model.ts";
import type { ScreenName } from "../src/ui.ts";

const { lucid, wry } = sampleSessions;
const enter = "\r";

type Call = { name: string; input: unknown };
type Stage = MemoryApp & { calls: readonly Call[] };
type Case = {
  model?: (model: Model) => Model;
  /** Makes the action applicable. */
  at: (stage: Stage) => void;
  /** Whether the effect is there. It must not be there before the key. */
  effect: (stage: Stage) => boolean | Promise<boolean>;
  /** Typed after the key, such as the answer to a question; `last` is its effect. */
  next?: string;
  last?: (stage: Stage) => boolean | Promise<boolean>;
};

const shows = (text: string) => async (stage: Stage) => (await stage.shown()).includes(text);
const asks = (what: string) => (stage: Stage) => stage.asked.includes(what);
const calls =
  (name: string, input: object = {}) =>
  (stage: Stage) =>
    stage.calls.some((one) => {
      if (one.name !== name) return false;
      expect(one.input).toMatchObject(input);
      return true;
    });

const talk = (stage: Stage) => stage.app.openSession(lucid);
const typing = (text: string) => (stage: Stage) => {
  talk(stage);
  stage.type(text);
};
const on = (screen: ScreenName, key: string) => (stage: Stage) => {
  talk(stage);
  stage.app.show(screen);
  stage.app.update({ selected: { [screen]: key } });
};
const rowIs = (key: string) => (stage: Stage) => stage.app.row()?.key === key;
const moves = (key: string) => {
  let before = "";
  return {
    at(stage: Stage) {
      on("dashboard", key)(stage);
      before = stage.app.row()?.key ?? "";
    },
    effect: (stage: Stage) => stage.app.row()?.key !== before,
  };
};
/** The conversation is longer than the terminal. */
const scrolls = (before: readonly string[]) => {
  let shown = "";
  return {
    async at(stage: Stage) {
      talk(stage);
      stage.app.update({ unfolded: true });
      stage.resize(80, 14);
      for (const data of before) stage.type(data);
      shown = await stage.shown();
    },
    effect: async (stage: Stage) => (await stage.shown()) !== shown,
  };
};
const screen = (name: ScreenName) => ({ at: talk, effect: (stage: Stage) => stage.app.ui.screen === name });
const confirmed = (at: Case["at"], title: string, call: string): Case => ({
  at,
  effect: shows(title),
  next: "y",
  last: calls(call),
});
const opens = (handle: string) => shows(`${handle} ·`);

const running = "task:tsk_01hz01hz7a";
const cases: Readonly<Record<string, Case | (() => Case)>> = {
  "message.send": { at: typing("hello"), effect: calls("sendMessage", { body: { text: "hello", mode: "queue" } }) },
  "message.steer": { at: typing("hello"), effect: calls("sendMessage", { body: { text: "hello", mode: "steer" } }) },
  "turn.interrupt": { at: talk, effect: calls("interruptSession") },
  "message.take_back": {
    at: talk,
    effect: (stage) => calls("cancelMessage")(stage) && stage.app.editorText() === "also look at the docs",
  },
  "editor.new_line": { at: typing("a"), effect: (stage) => stage.app.editorText() === "a\n" },
  "editor.outside": { at: talk, effect: asks("edit") },
  "image.paste": { at: talk, effect: asks("clipboard") },
  fold: { at: talk, effect: shows("▾ edit src/inbox/admit.ts") },
  "history.search": { at: talk, effect: shows("What you sent before") },
  "scroll.up": () => scrolls([]),
  "scroll.down": () => scrolls(keyBytes("ctrl+home")),
  "scroll.previous": () => scrolls([]),
  "scroll.next": () => scrolls(keyBytes("ctrl+home")),
  "scroll.start": () => scrolls([]),
  "scroll.end": () => scrolls(keyBytes("ctrl+home")),
  "session.next": { at: talk, effect: opens("wry-hopper") },
  "session.previous": { at: talk, effect: opens("shy-boole") },
  "session.close": confirmed(talk, "Close lucid-hertz?", "closeSession"),
  "help.empty": { at: talk, effect: shows("Keys of this screen") },

  "ask.allow": { at: on("needs", "ask:ask_01hzone"), effect: calls("answerAsk", { body: { choice: "allow" } }) },
  "ask.always": { at: on("needs", "ask:ask_01hzone"), effect: calls("answerAsk", { body: { choice: "always" } }) },
  "ask.deny": { at: on("needs", "ask:ask_01hzone"), effect: calls("answerAsk", { body: { choice: "deny" } }) },
  "ask.text": {
    at: on("needs", "ask:ask_01hzone"),
    effect: shows("Deny, because"),
    next: `no${enter}`,
    last: calls("answerAsk", { body: { choice: "deny", text: "no" } }),
  },
  ...Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [
      `ask.option.${index + 1}`,
      {
        model: withOptions,
        at: on("needs", "ask:ask_01hztwo"),
        effect: calls("answerAsk", { body: { choice: `choice ${index + 1}` } }),
      },
    ]),
  ),
  "need.land": {
    model: withNeeds,
    at: on("needs", `need:${sampleSessions.brisk}`),
    effect: shows("Land on main?"),
    next: "y",
    last: calls("landSession"),
  },
  "ask.show": { at: on("needs", "ask:ask_01hzone"), effect: shows("The whole ask") },

  "select.up": () => moves(running),
  "select.down": () => moves("queue:review"),
  "select.page_up": () => moves(running),
  "select.page_down": () => moves("queue:review"),
  "select.first": { at: on("dashboard", running), effect: rowIs("queue:review") },
  "select.last": { at: on("dashboard", running), effect: rowIs("task:tsk_01hz01hx3c") },
  filter: {
    at: on("dashboard", "queue:review"),
    effect: shows("Show only rows with"),
    next: `adhoc${enter}`,
    last: rowIs("queue:adhoc"),
  },
  back: { at: on("dashboard", running), effect: (stage) => stage.app.ui.screen === "session" },
  "help.list": { at: on("dashboard", running), effect: shows("Keys of this screen") },
  "open.session": { at: on("team", `session:${wry}`), effect: opens("wry-hopper") },
  "row.detail": { at: on("dashboard", running), effect: shows("┌ task ") },
  "copy.id": {
    at: on("team", `session:${wry}`),
    effect: (stage) => stage.writes.join("").includes(`]52;c;${Buffer.from(wry).toString("base64")}`),
  },

  "task.cancel": confirmed(on("dashboard", running), "Cancel the task", "cancelTask"),
  "task.retry": { at: on("dashboard", `task:${busyRows.failedTask}`), effect: calls("retryTask") },
  "run.cancel": confirmed(on("dashboard", "run:run_01hz0abcde"), "Cancel the run of tdd_cycle?", "cancelRun"),
  "run.resume": { at: on("dashboard", `run:${busyRows.parkedRun}`), effect: calls("resumeRun") },
  "run.fork": { at: on("dashboard", "run:run_01hz9988cc"), effect: calls("forkRun") },
  "run.log": { at: on("dashboard", "run:run_01hz9988cc"), effect: shows("log of review_branch") },
  "run.answer": {
    model: (model) => withTask(model, { worker: wry }),
    at: on("dashboard", running),
    effect: (stage) => stage.app.ui.screen === "needs" && rowIs("ask:ask_01hzone")(stage),
  },
  "queue.pause": { at: on("dashboard", "queue:review"), effect: calls("pauseQueue") },
  "queue.enqueue": {
    at: on("dashboard", "queue:review"),
    effect: shows("New task for review"),
    next: `read it${enter}`,
    last: calls("enqueueTask", { body: { payload: "read it" } }),
  },
  "queue.landings": { at: on("dashboard", "queue:merge-queue"), effect: shows("lnd_1 waits (position 1) · main") },
  "queue.remove": confirmed(on("dashboard", "queue:adhoc"), "Remove the queue adhoc?", "removeQueue"),
  "schedule.run": { at: on("dashboard", "schedule:nightly"), effect: calls("runSchedule") },
  "schedule.toggle": {
    at: on("dashboard", "schedule:nightly"),
    effect: calls("updateSchedule", { body: { enabled: false } }),
  },
  "schedule.log": { at: on("dashboard", "schedule:nightly"), effect: shows("firings of nightly") },
  "schedule.remove": confirmed(on("dashboard", "schedule:nightly"), "Remove the schedule nightly?", "removeSchedule"),
  "subagent.kill": confirmed(
    on("dashboard", `subagent:${busyRows.subagent}`),
    "Kill the subagent review?",
    "killSubagent",
  ),

  "session.interrupt": { at: on("team", `session:${lucid}`), effect: calls("interruptSession") },
  "session.fork": { at: on("team", `session:${wry}`), effect: calls("forkSession") },
  "session.rename": {
    at: on("team", `session:${wry}`),
    effect: shows("New handle of wry-hopper"),
    next: `s${enter}`,
    last: calls("updateSession", { body: { handle: "wry-hoppers" } }),
  },
  "session.close.row": confirmed(on("team", `session:${wry}`), "Close wry-hopper?", "closeSession"),
  "session.changes": { at: on("team", `session:${wry}`), effect: shows("files that wry-hopper changed") },
  "group.broadcast": {
    at: on("team", `group:${busyRows.group}`),
    effect: shows("Ask every member of reviewers to"),
    next: `look${enter}`,
    last: calls("broadcastGroup", { body: { objective: "look" } }),
  },
  "group.dissolve": confirmed(on("team", `group:${busyRows.group}`), "Dissolve the group reviewers?", "dissolveGroup"),
  "team.view": { at: on("team", `session:${wry}`), effect: shows("FLOW") },
  "hop.open": {
    at(stage) {
      on("team", "hop:2")(stage);
      stage.app.update({ teamView: "flow" });
    },
    effect: shows("handoff from lucid-hertz to wry-hopper"),
  },
  "team.spawn": {
    at: on("team", `session:${wry}`),
    effect: shows("New session: which agent?"),
    next: enter,
    last: calls("createSession", { body: { agent: "coder" } }),
  },

  "agent.spawn": {
    at: on("agents", "agent:studio:designer"),
    effect: calls("createSession", { body: { agent: "studio:designer" } }),
  },
  "skill.open": { at: on("agents", "skill:null:changelog"), effect: shows("How to write a changelog") },
  "plugin.open": { at: on("agents", "plugin:studio"), effect: shows("agents: 1") },
  "plugin.reload": {
    at: on("agents", "plugin:studio"),
    effect: calls("reloadPlugins", { body: { plugin: "studio" } }),
  },

  "screen.dashboard": screen("dashboard"),
  "screen.needs": screen("needs"),
  "screen.team": screen("team"),
  "screen.agents": screen("agents"),
  palette: { at: talk, effect: shows("Go to, or do"), next: `changelog${enter}`, last: shows("/changelog") },
  "session.new": {
    at: talk,
    effect: shows("New session: which agent?"),
    next: enter,
    last: calls("createSession", { body: { agent: "coder" } }),
  },
  "daemon.start": { model: (model) => ({ ...model, connection: "away" }), at: talk, effect: asks("start") },
  suspend: { at: talk, effect: asks("suspend") },
  redraw: {
    async at(stage) {
      talk(stage);
      await stage.shown();
      stage.writes.length = 0;
    },
    // Everything is drawn again, although nothing changed.
    effect: async (stage) => {
      await stage.shown();
      return stage.writes.join("").includes("runs npm test");
    },
  },
  leave: {
    at: typing("a draft"),
    effect: (stage) => stage.app.editorText() === "",
    next: "\u0003\u0003",
    last: asks("leave"),
  },
  ...Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [
      `session.go.${index + 1}`,
      {
        model: withNine,
        at: (stage: Stage) => stage.app.show("dashboard"),
        effect: (stage: Stage) => opened(stage, index),
      },
    ]),
  ),
  help: { at: talk, effect: shows("Keys of this screen") },
};

/** The question has nine options. */
function withOptions(model: Model): Model {
  const { brisk } = sampleSessions;
  const options = Array.from({ length: 9 }, (_, index) => `choice ${index + 1}`);
  const asks = model.state.asks.map((ask) => (ask.session === brisk ? { ...ask, options } : ask));
  return { ...model, state: { ...model.state, asks } };
}

function withTask(model: Model, change: object): Model {
  const [id, task] = Object.entries(model.state.tasks).find(([, { status }]) => status === "dispatched") ?? [];
  if (id === undefined || task === undefined) throw new Error("the sample has a task");
  return { ...model, state: { ...model.state, tasks: { ...model.state.tasks, [id]: { ...task, ...change } } } };
}

/** Nine sessions, of which the added ones are the oldest. */
function withNine(model: Model): Model {
  const first = model.state.cards[lucid];
  if (first === undefined) throw new Error("the sample has the session");
  const added = Array.from({ length: 4 }, (_, index) => {
    const id = `ses_01hzmore${index}` as typeof lucid;
    return [id, { ...first, id, handle: `more-${index}`, title: "", created_at: index }] as const;
  });
  return { ...model, state: { ...model.state, cards: { ...model.state.cards, ...Object.fromEntries(added) } } };
}

async function opened(stage: Stage, index: number): Promise<boolean> {
  const tab = new RegExp(` ${index + 1} (.+?)…? \\S(?= |$)`).exec((await stage.shown()).split("\n")[0] ?? "")?.[1];
  const session = stage.app.ui.session === null ? undefined : stage.app.store.model.state.cards[stage.app.ui.session];
  return (
    stage.app.ui.screen === "session" && session !== undefined && tab !== undefined && headline(session).startsWith(tab)
  );
}

const answers: Readonly<Record<string, unknown>> = {
  createSession: { session: { id: wry } },
  forkSession: { session: { id: wry } },
  forkRun: { run: { id: "run_01hz1234ab" } },
  cancelTask: { ok: true, status: "cancelled" },
  listAgents: { agents: busyModel().lists.agents, diagnostics: [] },
  listCommands: { commands: [] },
  listSkills: { skills: busyModel().lists.skills, diagnostics: [] },
  getSkill: { skill: { body: "How to write a changelog" } },
  getPlugin: { plugin: { diagnostics: [], brings: { agents: ["designer"] }, place: "here" } },
  getChanges: { changes: { handle: "wry-hopper", git: true, files: [], omitted: 0, problems: [], patch: "" } },
  runEvents: { events: [] },
  listFirings: { firings: [] },
  listLandings: {
    landings: [{ id: "lnd_1", state: "new", target: "main", queued_position: 1, created_at: 0, detail: null }],
  },
};

function stageOf(model: Model): Stage {
  const found: Call[] = [];
  const call = async (name: string, input: unknown) => {
    found.push({ name, input });
    const answer = answers[name];
    // What is not asked for by a key stays as the sample has it.
    if (answer === undefined && /^(?:list|get|next|history|status)/.test(name))
      throw new AegisError("unavailable", "no daemon answers");
    return answer ?? {};
  };
  const client = { url: "", call, open: call } as unknown as Client;
  return { ...memoryApp(model, { columns: 200, rows: 40, client }), calls: found };
}

const keymap = createKeymap({});

it("knows an effect of every action", () => {
  expect(Object.keys(cases).toSorted()).toEqual(keymap.actions.map(({ id }) => id).toSorted());
});

describe.each(keymap.actions.map(({ id, title }) => ({ id, title })))("$id ($title)", ({ id }) => {
  const presses = keymap.keysOf(id).flatMap((key) => keyBytes(key).map((bytes) => ({ key, bytes })));

  it.each(presses)("works with $key as $bytes", async ({ bytes }) => {
    const given = cases[id];
    const one = typeof given === "function" ? given() : given;
    if (one === undefined) throw new Error(`there is no case for ${id}`);
    const stage = stageOf(one.model?.(busyModel()) ?? busyModel());
    await one.at(stage);
    expect(await one.effect(stage), "the effect is there before the key").toBe(false);
    stage.type(bytes);
    await waitUntil(`the effect of ${id}`, async () => one.effect(stage), 1_000);
    for (const data of one.next ?? "") {
      stage.type(data);
      await stage.shown();
    }
    const { last } = one;
    if (last !== undefined) await waitUntil(`what follows ${id}`, async () => last(stage), 1_000);
  });
});
