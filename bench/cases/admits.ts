/** Durable admits: a message and its event behind one fsync, through the inbox and the store the daemon uses. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { buildRuntime } from "@aegis/daemon/build.ts";
import { openProject } from "@aegis/daemon/open-project.ts";
import { agreeAlways } from "@aegis/project/trust/agree.ts";
import { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import { openBareStore } from "../bare/store.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { writeProject } from "../daemon.ts";
import { compareRounds, figure, interleave, rate } from "../measure.ts";

const body = "x".repeat(200);
const sessionCount = 50;
const manyWriters = 50;

type Round = { rate: number; perCommit: number };

export const admits: Bench = {
  name: "admits",
  about: "durable admits through the inbox, against bare inserts of as many bytes, each with its fsync",
  async run(context) {
    const { quick, folder, scope, signal } = context;
    const seat = await openSeat(context);
    const bare = scope.use(openBareStore(join(folder, "bare.db")));
    const row = "x".repeat(await seat.storedBytes());
    const alone = quick ? 50 : 300;
    const rounds = await interleave<"bare" | "one" | "many", Round>(
      {
        bare: async () => ({ rate: await rate(alone, () => bare.insertMany(row, alone)), perCommit: 1 }),
        one: () => seat.round(1, alone),
        many: () => seat.round(manyWriters, quick ? 10 : 60),
      },
      quick ? 3 : 9,
      signal,
    );
    const rates = (name: keyof typeof rounds) => rounds[name].map((round) => round.rate);
    const perCommit = (name: keyof typeof rounds) => rounds[name].map((round) => round.perCommit);
    const one = { name: "admits, 1 writer", unit: "/s", against: "bare inserts" } as const;
    const many = { name: `admits, ${manyWriters} writers`, unit: "/s" } as const;
    const together = { name: `admits per fsync, ${manyWriters} writers`, unit: "", against: "1 writer" } as const;
    return [
      figure(one, compareRounds(rates("one"), rates("bare")), { ratioAtLeast: 0.6 }),
      figure({ ...many, against: "bare inserts" }, compareRounds(rates("many"), rates("bare"))),
      figure({ ...many, against: "1 writer" }, compareRounds(rates("many"), rates("one")), { ratioAtLeast: 20 }),
      figure(together, compareRounds(perCommit("many"), perCommit("one"))),
    ];
  },
};

type Seat = {
  /** Each writer admits its messages one after the other. */
  round(writers: number, each: number): Promise<Round>;
  /** What an admitted message takes in the database, its event included. */
  storedBytes(): Promise<number>;
};

async function openSeat({ folder, scope, signal }: BenchContext): Promise<Seat> {
  const root = join(folder, "project");
  await writeProject(root);
  const env = { HOME: root, AEGIS_LOG: "silent" };
  await agreeAlways({ root, env });
  const foundation = await openProject({ root, env }, scope);
  const { store, clock, configService, secrets } = foundation;
  // The daemon always looks for at least its own token.
  secrets.add(randomBytes(32).toString("base64url"));
  const runtime = buildRuntime({
    ...foundation,
    settings: configService.settings,
    url: () => "http://127.0.0.1:0",
    addSecret: (value) => secrets.add(value),
    redact: secrets.redact,
    redactedStream: () => secrets.stream(),
    signal,
  });
  const sessions: SessionId[] = [];
  while (sessions.length < sessionCount) sessions.push((await runtime.sessions.create({})).session.id);
  // Wakes no session: the cost of a turn is measured elsewhere.
  const inbox = new Inbox({
    store,
    clock,
    redact: (text) => text,
    hints: { wake: () => {}, interrupt: async () => false, steer: async () => ({ joined: false, why: null }) },
  });
  let commits = 0;
  scope.defer(
    store.onCommit(() => {
      commits += 1;
    }),
  );
  return {
    async round(writers, each) {
      // Ids are made by who sends, before it sends.
      const admissions = Array.from({ length: writers * each }, (_, index) => ({
        id: newId("msg", clock.now()),
        session: sessions[index % sessionCount] as SessionId,
        sender: { kind: "human" } as const,
        body,
      }));
      const lanes = Array.from({ length: writers }, (_, lane) => admissions.slice(lane * each, (lane + 1) * each));
      commits = 0;
      const admitted = await rate(admissions.length, () =>
        Promise.all(
          lanes.map(async (lane) => {
            for (const admission of lane) await inbox.admit(admission);
          }),
        ),
      );
      const perCommit = admissions.length / commits;
      // As turns would, so that the inbox does not grow from round to round.
      const ids = admissions.map((admission) => admission.id);
      await store.transact((tx) => tx.messages.setStatus(ids, "done", null));
      return { rate: admitted, perCommit };
    },
    async storedBytes() {
      const id = newId("msg", clock.now());
      await inbox.admit({ id, session: sessions[0] as SessionId, sender: { kind: "human" }, body });
      const message = await store.read.messages.get(id);
      const [event] = await store.read.events.list({ limit: 1, from: "newest" });
      return Buffer.byteLength(JSON.stringify(message)) + Buffer.byteLength(JSON.stringify(event));
    },
  };
}
