/** Creates, shows and dissolves groups of sessions. */

import { unknownName } from "@aegis/agents/unknown-name.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { NewEvent } from "@aegis/contract/event.ts";
import type { Group, GroupMember, GroupView } from "@aegis/contract/group.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import type { Broadcasts } from "./broadcasts.ts";
import { liveGroup } from "./find.ts";
import type { ReducerTable } from "./reducers.ts";

export type GroupPreset = { agents: readonly string[]; reducer?: string | undefined; timeout?: number | undefined };

export type GroupsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  broadcasts: Broadcasts;
  reducers: ReducerTable;
  presets: () => Readonly<Record<string, GroupPreset>>;
};

export type NewMembers = {
  group: string;
  /** One session per agent. Either this or `preset` is set. */
  agents?: readonly string[] | undefined;
  preset?: string | undefined;
  /** The number of sessions of a single agent. */
  handle?: string | undefined;
  /** The session or run that starts them: it limits their rights, and they count in its tree. */
  starter?: Starter | SessionId | null | undefined;
  /** Makes the request idempotent: a key starts its sessions once. */
  key?: string | undefined;
};

export class Groups {
  readonly #options: GroupsOptions;

  constructor(options: GroupsOptions) {
    this.#options = options;
  }

  /** Adds members to the group and creates it if necessary. Either all members start, or none. */
  async spawn(input: NewMembers): Promise<{ group: GroupView; handles: string[] }> {
    const { group, made } = await this.#options.store.transact((tx) => this.spawnIn(tx, input));
    return { group: await this.#view(group), handles: made.map((session) => session.handle) };
  }

  /** Like `spawn`, inside the caller's transaction. */
  async spawnIn(tx: StoreTx, input: NewMembers): Promise<{ group: Group; made: SessionRow[] }> {
    const { reducers, sessions } = this.#options;
    const { handle, starter } = input;
    const recipe = this.#recipe(input);
    if (recipe.reducer !== undefined) reducers.get(recipe.reducer);
    const made: SessionRow[] = [];
    for (const [index, agent] of recipe.agents.entries()) {
      const id = input.key === undefined ? undefined : derivedId("ses", `${input.key}/${index}`);
      made.push((await sessions.createIn(tx, { id, agent, handle, starter })).row);
    }
    return { group: await this.#join(tx, input, recipe, made), made };
  }

  async list(): Promise<GroupView[]> {
    return Promise.all((await this.#options.store.read.groups.list()).map((group) => this.#view(group)));
  }

  async view(name: string): Promise<GroupView> {
    return this.#view(await liveGroup(this.#options.store.read, name));
  }

  /** Closes the members and frees the name. Ends an open broadcast; missing replies count as failed. */
  async dissolve(name: string, caller?: SessionId): Promise<{ group: string; closed: string[] }> {
    const { store, clock } = this.#options;
    const members = await store.transact(async (tx) => {
      const group = await liveGroup(tx, name);
      const all = await membersOf(tx, group);
      if (all.some((member) => member.session === caller)) {
        throw new AegisError("conflict", `you are a member of group "${name}" and cannot close yourself`, {
          hint: "leave it to a person or to a session outside the group",
        });
      }
      const now = clock.now();
      await tx.groups.dissolve(group.id, now);
      const data = { group: group.id, name, members: all.map(({ session, handle }) => ({ session, handle })) };
      await tx.events.append({ type: "group.dissolved", session: null, data }, now);
      return all;
    });
    const open = members.filter((member) => member.state !== "closed");
    await this.#closeAll(
      open.map((member) => member.session),
      `group "${name}" was dissolved`,
    );
    return { group: name, closed: open.map((member) => member.handle) };
  }

  /** Recovers after a restart: closes the members of dissolved groups. */
  async resume(): Promise<void> {
    await this.#closeAll(await this.#options.store.read.groups.leftOpen(), "its group was dissolved");
  }

  #recipe(input: NewMembers): GroupPreset {
    const { agents, preset, handle } = input;
    if ((agents === undefined) === (preset === undefined)) {
      throw new AegisError("invalid", "expected either agents or a preset, and not both");
    }
    const recipe = agents === undefined ? this.#preset(preset ?? "") : { agents };
    if (handle !== undefined && recipe.agents.length !== 1) {
      throw new AegisError(
        "invalid",
        `one handle for ${recipe.agents.length} members: give one to a single agent only`,
      );
    }
    return recipe;
  }

  #preset(name: string): GroupPreset {
    const presets = this.#options.presets();
    const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
    if (preset) return preset;
    throw unknownName("preset", name, Object.keys(presets), "groups.presets of the configuration is empty");
  }

  async #join(tx: StoreTx, input: NewMembers, recipe: GroupPreset, made: readonly SessionRow[]): Promise<Group> {
    const now = this.#options.clock.now();
    const [first] = made;
    const joined = first && (await tx.groups.ofSession(first.id));
    // A repeated request: either all of its sessions joined, or none.
    if (joined) return joined;
    const before = await tx.groups.byName(input.group);
    const group = before ?? {
      id: newId("grp", now),
      name: input.group,
      reducer: recipe.reducer ?? null,
      timeout: recipe.timeout ?? null,
      created_at: now,
      dissolved_at: null,
    };
    if (!before) await tx.groups.insert(group);
    for (const session of made) await tx.groups.addMember(group.id, session.id);
    const members = made.map(({ id, handle }) => ({ session: id, handle }));
    const event: NewEvent = before
      ? { type: "group.joined", session: null, data: { group: group.id, name: group.name, members } }
      : { type: "group.created", session: null, data: { group, members } };
    await tx.events.append(event, now);
    return group;
  }

  async #view(group: Group): Promise<GroupView> {
    const { store, broadcasts } = this.#options;
    const members = await membersOf(store.read, group);
    return { ...group, ...broadcasts.terms(group), members, broadcast: await broadcasts.latest(group) };
  }

  async #closeAll(ids: readonly SessionId[], reason: string): Promise<void> {
    const { sessions, log } = this.#options;
    await Promise.all(
      ids.map(async (session) => {
        try {
          await sessions.close(session, reason);
        } catch (error) {
          if (error instanceof AegisError && error.code === "closed") return;
          log.error("a member could not be closed", { session, error: errorText(error) });
        }
      }),
    );
  }
}

async function membersOf(read: Pick<StoreTx, "groups" | "sessions"> | Store["read"], group: Group) {
  const rows = await Promise.all((await read.groups.members(group.id)).map((id) => read.sessions.get(id)));
  return rows.flatMap((row): GroupMember[] =>
    row === null ? [] : [{ session: row.id, handle: row.handle, agent: row.agent, state: row.state }],
  );
}
