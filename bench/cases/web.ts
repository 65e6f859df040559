/** The web app in Chromium, beside pages that do nothing. */
import { cp, mkdir, readdir, readFile, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../../test/helpers/browser-launch.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, createSessions, startDaemon } from "../daemon.ts";
import { compareRounds, compareValues, type Figure, figure, interleave, percentile } from "../measure.ts";
import { readMemory } from "../process-use.ts";
import { openTalk } from "../talk.ts";
import { heapOf, keyDelays, longestTasks, scrollable } from "../web-page.ts";

const eventsOfTurn = 500;
const streaming = 20;
/** 20 sessions with 10 pieces a second each are 200 events a second. */
const pieceMs = 100;
const chunk = 60;
const piecesOfHour = (streaming * 3_600_000) / pieceMs;
const soakText = Array.from({ length: 300 }, (_, index) => line(index)).join("\n\n");
const piecesOfTurn = Math.ceil(soakText.length / chunk);

const playbook = (quick: boolean) => `
rules:
  - name: fill
    when: /^fill/
    steps:
${Array.from({ length: eventsOfTurn }, (_, step) => `      - say: ${JSON.stringify(line(step))}`).join("\n")}
  - name: stream
    when: /^stream/
    steps:
      - stream: ${JSON.stringify(Array.from({ length: quick ? 60 : 300 }, (_, index) => line(index)).join("\n\n"))}
        chunk: ${chunk}
        delay: ${pieceMs}
  - name: soak
    when: /^soak/
    steps:
      - stream: ${JSON.stringify(soakText)}
        chunk: ${chunk}
        delay: 1
  - name: anything
    when: always
    steps: [{ say: "noted" }]
`;

function line(step: number): string {
  const more = step % 10 === 9 ? "\n\n```ts\nconst answer = 42; // and a comment\n```" : "";
  return `Step ${step}: a sentence with **strong** words, \`code\` and enough text for a second line of the page.${more}`;
}

export const web: Bench = {
  name: "web",
  about: "the web app in Chromium: size, first paint, a session of 100,000 events, scrolling, typing, memory",
  async run(context) {
    const daemon = await startDaemon(context, "project", { "parrot.yaml": playbook(context.quick) });
    const unopened = await unopenedFigures(context, daemon);
    const [session = null, ...others] = await createSessions(daemon, 1 + streaming);
    if (session === null) throw new Error("no session was created");
    await fill(context, daemon, session);
    const browser = await launchBrowser(["--enable-precise-memory-info"]);
    context.scope.defer(() => browser.close());
    const page = await openApp(browser, daemon);
    const empty = await (await browser.newContext({ locale: "en-US" })).newPage();
    return [
      ...unopened,
      await firstPage(context),
      await paints(context, page, daemon),
      ...(await longSession(context, page, empty, session)),
      ...(await streams(context, { page, empty, daemon, session, others })),
      await soak(context, page, daemon, others),
    ];
  },
};

async function openApp(browser: Browser, { client }: BenchDaemon): Promise<Page> {
  const page = await (await browser.newContext({ locale: "en-US" })).newPage();
  await page.goto((await client.call("createWebCode")).url);
  await page.waitForSelector(".shell");
  return page;
}

async function fill({ quick, signal }: BenchContext, { client }: BenchDaemon, session: SessionId): Promise<void> {
  const talk = await openTalk(client, session, signal);
  const wanted = quick ? 5_000 : 100_000;
  for (let events = 0; events < wanted; events += eventsOfTurn) await talk.exchange("fill");
}

/** The daemon before somebody opens the app, beside the daemon of a build without it. */
async function unopenedFigures(context: BenchContext, daemon: BenchDaemon): Promise<Figure[]> {
  const dist = await buildWithoutWeb(context);
  const without = await startDaemon({ ...context, dist }, "without-web");
  await delay(context.quick ? 500 : 5_000, undefined, { signal: context.signal });
  const [ours, base] = await Promise.all([readMemory(daemon.file.pid), readMemory(without.file.pid)]);
  return [
    figure(
      { name: "daemon, app not opened (anonymous)", unit: "MB", against: "a build without the app" },
      compareValues(ours.anonMb, base.anonMb),
      { ratioAtMost: 1.05 },
    ),
  ];
}

async function buildWithoutWeb({ dist, folder }: BenchContext): Promise<string> {
  const root = join(folder, "package");
  await mkdir(root);
  for (const name of ["node_modules", "assets", "plugins", "package.json"])
    await symlink(join(dirname(dist), name), join(root, name));
  const copy = join(root, "dist");
  await cp(dist, copy, { recursive: true, filter: (path) => path !== join(dist, "web") });
  return copy;
}

async function firstPage({ dist }: BenchContext): Promise<Figure> {
  const folder = join(dist, "web");
  const html = await readFile(join(folder, "index.html"), "utf8");
  let bytes = 0;
  for (const name of await readdir(join(folder, "assets"))) {
    if (name.endsWith(".js") && html.includes(name)) bytes += (await stat(join(folder, "assets", `${name}.gz`))).size;
  }
  return figure({ name: "script of the first page, gzip", unit: "kB", against: "" }, compareValues(bytes / 1_000, 0), {
    valueBelow: 150,
  });
}

async function paints(context: BenchContext, page: Page, { file }: BenchDaemon): Promise<Figure> {
  const rounds = await interleave(
    {
      empty: () => firstPaint(page, `${file.url}/assets/none`),
      app: () => firstPaint(page, `${file.url}/`),
    },
    context.quick ? 3 : 10,
    context.signal,
  );
  return figure(
    { name: "first paint", unit: "ms", against: "a page without script" },
    compareRounds(rounds.app, rounds.empty),
    { valueBelow: 300 },
  );
}

async function firstPaint(page: Page, url: string): Promise<number> {
  await page.goto(url);
  return Number(
    await page.evaluate(`new Promise((done) => new PerformanceObserver((list, observer) => {
      observer.disconnect();
      done(list.getEntries()[0].startTime);
    }).observe({ type: "paint", buffered: true }))`),
  );
}

async function longSession(context: BenchContext, page: Page, empty: Page, session: SessionId): Promise<Figure[]> {
  await page.goto(new URL("/", page.url()).href);
  await page.waitForSelector(".shell");
  const rounds = await interleave(
    { home: () => opened(page, "#/queues", ".page"), session: () => opened(page, `#/s/${session}`, ".row .markdown") },
    context.quick ? 3 : 10,
    context.signal,
  );
  await empty.setContent(scrollable);
  const seconds = context.quick ? 2 : 10;
  const base = await longestTasks(empty, seconds);
  await opened(page, `#/s/${session}`, ".row .markdown");
  await page.evaluate(`document.querySelector(".scroller").focus()`);
  const ours = await longestTasks(page, seconds);
  const events = context.quick ? "5,000" : "100,000";
  return [
    figure(
      { name: `a session of ${events} events opens`, unit: "ms", against: "a small view" },
      compareRounds(rounds.session, rounds.home),
      { valueBelow: 500 },
    ),
    figure(
      { name: "longest task while scrolling back", unit: "ms", against: "a page without script" },
      compareValues(ours, base),
      { valueBelow: 50 },
    ),
  ];
}

/** Milliseconds until the place shows its content, measured in the page. */
async function opened(page: Page, place: string, selector: string): Promise<number> {
  await page.evaluate(`location.hash = "#/"`);
  await page.waitForSelector(".home");
  return Number(
    await page.evaluate(`new Promise((done) => {
      const from = performance.now();
      location.hash = ${JSON.stringify(place)};
      const look = () => document.querySelector(${JSON.stringify(selector)}) === null
        ? requestAnimationFrame(look) : done(performance.now() - from);
      look();
    })`),
  );
}

async function streams(
  context: BenchContext,
  at: { page: Page; empty: Page; daemon: BenchDaemon; session: SessionId; others: readonly SessionId[] },
): Promise<Figure[]> {
  const { page, empty, daemon, others } = at;
  const [shown = at.session] = others;
  await empty.setContent("<textarea></textarea>");
  const keys = context.quick ? 20 : 50;
  await opened(page, `#/s/${shown}`, ".composer textarea");
  const before = await heapOf(page);
  const send = async () => {
    for (const session of others)
      await daemon.client.call("sendMessage", { path: { session }, body: { text: "stream" } });
  };
  await send();
  // In turns: a machine that is busy for a moment delays both.
  const ours: number[] = [];
  const base: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    base.push(...(await keyDelays(empty, "textarea", keys)));
    ours.push(...(await keyDelays(page, ".composer textarea", keys)));
  }
  // The rest of the streams: memory is measured when the page has taken in everything.
  const rounds = context.quick ? 1 : 3;
  for (let round = 0; round < rounds; round++) {
    await allReady(daemon, context.signal);
    if (round + 1 < rounds) await send();
  }
  await delay(1_000, undefined, { signal: context.signal });
  const p99 = (values: readonly number[]) => percentile(values, 99);
  return [
    figure(
      { name: `key to paint, p99, ${streaming} sessions stream`, unit: "ms", against: "an empty page" },
      compareValues(p99(ours), p99(base)),
    ),
    figure(
      { name: "the same beyond the empty page", unit: "ms", against: "" },
      compareValues(Math.max(0, p99(ours) - p99(base)), 0),
      {
        valueBelow: 32,
      },
    ),
    figure(
      { name: `heap after ${rounds} streams of ${streaming} sessions`, unit: "MB", against: "before them" },
      compareValues(await heapOf(page), before),
      { valueBelow: 150 },
    ),
  ];
}

async function allReady({ client }: BenchDaemon, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { sessions } = await client.call("listSessions");
    if (sessions.every(({ state, pending }) => state === "ready" && pending === 0)) return;
    await delay(200, undefined, { signal });
  }
}

/**
 * The page takes in as many pieces as in an hour, as fast as the daemon sends them. It shows one of the sessions; the heap
 * is measured after a collection.
 */
async function soak(
  { quick, signal }: BenchContext,
  page: Page,
  { client }: BenchDaemon,
  sessions: readonly SessionId[],
): Promise<Figure> {
  const turns = Math.ceil((quick ? piecesOfHour / 60 : piecesOfHour) / sessions.length / piecesOfTurn);
  const before = await heapOf(page);
  const talks = await Promise.all(sessions.map((session) => openTalk(client, session, signal)));
  await Promise.all(
    talks.map(async (talk) => {
      for (let turn = 0; turn < turns; turn++) await talk.exchange("soak");
    }),
  );
  await delay(1_000, undefined, { signal });
  const hour = quick ? "a minute" : "an hour";
  return figure(
    { name: `heap after the pieces of ${hour} of ${streaming} sessions`, unit: "MB", against: "before them" },
    compareValues(await heapOf(page), before),
    { valueBelow: 150 },
  );
}
