/** Follows the daemon's events and keeps the model. Everything that a screen shows comes from here. */
import type { Client } from "@aegis/client/client.ts";
import { type FollowedItem, followEvents } from "@aegis/client/events.ts";
import { applyDelta, withAsks, withoutOldClosed, withPast, withSession } from "@aegis/client/model/board.ts";
import { Flow } from "@aegis/client/model/flow.ts";
import { applyToTeam, emptyTeam } from "@aegis/client/model/team.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { RunId, SessionId } from "@aegis/contract/ids.ts";
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import { type CheckedRow, loadChecked } from "./checked.ts";
import { withRuns, withSubagents, withTasks } from "./facts/seed.ts";
import { type ListName, listSources, listsChangedBy } from "./lists.ts";
import { emptyModel, type Model, type Outgoing } from "./model.ts";
import { Pages } from "./pages.ts";

export type StoreOptions = {
  client: Client;
  signal: AbortSignal;
  onChange(): void;
  /** A conversation that a person opened can be drawn; other changes may wait for the next frame. */
  onOpened?(): void;
  onEvent(event: Event): void;
  /** A request that the store made by itself failed. */
  onProblem(error: unknown): void;
};

/** What busy sessions do now is read at the start, for at most this many. */
const mostBusy = 20;
const busyPageSize = 30;
const trimEvery = 200;
const refreshMs = 100;
const retryMs = 1_000;

export class Store {
  model: Model = emptyModel();
  readonly pages: Pages;
  readonly #client: Client;
  readonly #options: StoreOptions;
  readonly #flow = new Flow();
  readonly #stale = new Set<ListName>(Object.keys(listSources) as ListName[]);
  readonly #wanted = new Set<ListName>();
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;
  #watchedRun: RunId | null = null;
  #loadingSteps = false;
  #stepsAreStale = false;
  #watchedSchedule = "";
  #watchedChecks = "";
  /** Counts the events after which a receipt may be new or void. */
  #checkEvents = 0;
  #sinceTrim = 0;

  constructor(options: StoreOptions) {
    this.#client = options.client;
    this.#options = options;
    const set = (change: Partial<Model>) => this.#set(change);
    const onOpened = () => options.onOpened?.();
    this.pages = new Pages({ client: options.client, model: () => this.model, set, onOpened });
  }

  /** Reads the lists, and follows events until the signal aborts. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    let seeded = false;
    while (!signal.aborted) {
      try {
        if (!seeded) await this.#seed();
        seeded = true;
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        this.#set({ connection: "away" });
        if (isAegisError(error) && error.status < 500) this.#options.onProblem(error);
        await pause(retryMs, signal);
      }
    }
  }

  async #follow(): Promise<void> {
    const following = followEvents(this.#client, {
      after: this.model.state.last_seq,
      live: true,
      signal: this.#options.signal,
      onConnect: () => this.#connected(),
      onReconnect: () => this.#set({ connection: "away" }),
    });
    for await (const item of following) this.take(item);
  }

  async #seed(): Promise<void> {
    const client = this.#client;
    const { last_seq } = await client.call("listEvents", { query: { limit: 1 } });
    const [{ sessions }, { asks }, open, pending, ended, { runs }, { subagents }] = await Promise.all([
      client.call("listSessions"),
      client.call("listAsks"),
      client.call("listTasks", { query: { status: "dispatched", limit: 200 } }),
      client.call("listTasks", { query: { status: "pending", limit: 500 } }),
      client.call("listTasks", { query: { limit: 50 } }),
      client.call("listRuns", { query: { limit: 50 } }),
      client.call("listSubagents", { query: { limit: 200 } }),
    ]);
    const views = await Promise.all(
      runs.map(async (run) =>
        run.ended_at === null
          ? (await client.call("getRun", { path: { run: run.id } })).run
          : { ...run, host_handle: null, steps_done: 0, open: [], agents: [], asks: [], receipts: [], cost: null },
      ),
    );
    let state = withAsks(sessions.reduce(withSession, emptyTeam(last_seq)), asks);
    state = withTasks(state, [...ended.tasks, ...pending.tasks, ...open.tasks]);
    state = withSubagents(withRuns(state, views), subagents);
    const busy = sessions.filter(({ state: one }) => one === "working").slice(0, mostBusy);
    const pages = await Promise.all(
      busy.map(({ id }) => client.call("history", { path: { session: id }, query: { limit: busyPageSize } })),
    );
    for (const [index, { events }] of pages.entries()) {
      const id = busy[index]?.id;
      if (id !== undefined) state = withPast(state, id, events);
    }
    for (const session of sessions) this.#flow.addLane(session);
    this.#set({ state });
  }

  #connected(): void {
    this.#set({ connection: "live" });
    for (const outgoing of this.model.outbox) this.#post(outgoing).catch((error) => this.#options.onProblem(error));
    this.#refreshSoon();
    if (this.pages.shown !== null) void this.pages.open(this.pages.shown);
    if (this.#watchedRun !== null) void this.#loadSteps(this.#watchedRun);
    this.#watchedSchedule = "";
    this.#watchedChecks = "";
  }

  /** Applies one event or delta. */
  take(item: FollowedItem): void {
    if (item.kind === "delta") {
      this.pages.take(item);
      const state = applyDelta(this.model.state, item.delta);
      if (state !== this.model.state || item.delta.session === this.pages.shown) this.#set({ state });
      return;
    }
    const { event } = item;
    if (event.seq <= this.model.state.last_seq) return;
    this.#flow.add(event);
    this.pages.take(item);
    const state = applyToTeam(this.model.state, event);
    this.#set({ state: event.type === "session.closed" ? withoutOldClosed(state) : state, flow: this.#flow.hops });
    for (const name of listsChangedBy(event)) this.#stale.add(name);
    if (event.type === "receipt.recorded" || event.type === "changes.recorded") this.#checkEvents += 1;
    if (this.#stale.size > 0) this.#refreshSoon();
    if (event.type.startsWith("run.") && "run" in event.data && event.data.run === this.#watchedRun)
      void this.#loadSteps(this.#watchedRun);
    if (event.type === "turn.ended" && event.session !== null && event.session === this.pages.shown)
      this.pages.markSeen(event.session, event.seq);
    this.#sinceTrim += 1;
    if (this.#sinceTrim >= trimEvery) {
      this.#sinceTrim = 0;
      this.pages.trim();
    }
    this.#options.onEvent(event);
  }

  /** Loads the newest part of a session's history, unless it is loaded. */
  openSession(id: SessionId): Promise<void> {
    return this.pages.open(id);
  }

  /** Keeps these lists up to date; the others are read when they are wanted. */
  want(names: readonly ListName[]): void {
    this.#wanted.clear();
    for (const name of names) this.#wanted.add(name);
    if (names.some((name) => this.#stale.has(name))) this.#refreshSoon(0);
  }

  #refreshSoon(ms = refreshMs): void {
    if (this.#refreshTimer !== undefined) return;
    this.#refreshTimer = setTimeout(() => {
      this.#refreshTimer = undefined;
      for (const name of this.#wanted) if (this.#stale.delete(name)) void this.#refresh(name);
    }, ms);
  }

  async #refresh(name: ListName): Promise<void> {
    try {
      const lists = await listSources[name].load(this.#client);
      this.#set({ lists: { ...this.model.lists, ...lists } });
    } catch {
      // The next connection reads it again.
      this.#stale.add(name);
    }
  }

  /** Keeps the steps of one run up to date, for DETAIL. */
  watchRun(run: RunId | null): void {
    if (this.#watchedRun === run) return;
    this.#watchedRun = run;
    if (run !== null) void this.#loadSteps(run);
  }

  /** A run may end many steps at once; one request at a time, and one more if steps ended meanwhile. */
  async #loadSteps(run: RunId): Promise<void> {
    if (this.#loadingSteps) {
      this.#stepsAreStale = true;
      return;
    }
    this.#loadingSteps = true;
    const answer = this.#client.call("listSteps", { path: { run }, query: { limit: 500 } });
    const loaded = await answer.catch(() => null);
    this.#loadingSteps = false;
    if (this.#watchedRun === run && loaded !== null) this.#set({ steps: { run, steps: loaded.steps } });
    const next = this.#watchedRun;
    if (next === null || (next === run && !this.#stepsAreStale)) return;
    this.#stepsAreStale = false;
    await this.#loadSteps(next);
  }

  /** Reads the next slots of a schedule, for DETAIL, again whenever its next slot changes. */
  async watchSchedule({ name, next_at }: Pick<ScheduleView, "name" | "next_at">): Promise<void> {
    const key = `${name} ${next_at}`;
    if (this.#watchedSchedule === key) return;
    this.#watchedSchedule = key;
    const answer = this.#client.call("nextFirings", { path: { schedule: name }, query: { count: 5 } });
    const loaded = await answer.catch(() => null);
    if (this.#watchedSchedule === key && loaded !== null) this.#set({ slots: { schedule: name, times: loaded.times } });
  }

  /** Reads what checks said about a row, for DETAIL, again whenever its status, a receipt or files changed. */
  async watchChecks(row: CheckedRow): Promise<void> {
    const key = `${row.of} ${row.status} ${this.#checkEvents}`;
    if (this.#watchedChecks === key) return;
    this.#watchedChecks = key;
    const checked = await loadChecked(this.#client, row).catch(() => null);
    if (this.#watchedChecks === key && checked !== null) this.#set({ checked });
  }

  /** Keeps the message until the daemon has accepted it, also across restarts of the daemon. Throws if it is refused. */
  send(outgoing: Outgoing): Promise<void> {
    this.#set({ outbox: [...this.model.outbox, outgoing] });
    return this.#post(outgoing);
  }

  async #post(outgoing: Outgoing): Promise<void> {
    const { id, session, text, mode, attachments } = outgoing;
    const body = { id, text, mode, attachments: [...attachments] };
    try {
      await this.#client.call("sendMessage", { path: { session }, body });
    } catch (error) {
      if (isAegisError(error) && error.code === "unavailable") return;
      this.#drop(id);
      throw error;
    }
    this.#drop(id);
  }

  #drop(id: Outgoing["id"]): void {
    this.#set({ outbox: this.model.outbox.filter((one) => one.id !== id) });
  }

  dispose(): void {
    clearTimeout(this.#refreshTimer);
  }

  #set(change: Partial<Model>): void {
    this.model = { ...this.model, ...change };
    this.#options.onChange();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
