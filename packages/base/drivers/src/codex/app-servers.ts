/** The app servers in use. Conversations with the same command share one, and the last one to leave stops it. */
import type { Processes } from "@aegis/lib/process.ts";
import type { AskConsent, DriverDeps, SpawnCommand } from "../driver.ts";
import { AppServer } from "./app-server.ts";

export type AppServerLease = { server: AppServer; release(): Promise<void> };

/** What starts a server. `alone` is the session that shares it with no other, because it is confined for that session. */
export type ServerHost = { processes: Processes; consent: AskConsent; alone: string | null };

type Shared = { server: Promise<AppServer>; users: number };

export class AppServers {
  readonly #deps: DriverDeps;
  readonly #shared = new Map<string, Shared>();

  constructor(deps: DriverDeps) {
    this.#deps = deps;
  }

  /** Throws `DriverError` when a new one cannot be started. */
  async acquire(command: SpawnCommand, host: ServerHost): Promise<AppServerLease> {
    const key = JSON.stringify([command.argv, Object.entries(command.env).sort(), command.cwd, host.alone]);
    const shared = this.#shared.get(key) ?? this.#start(key, command, host);
    shared.users += 1;
    const server = await shared.server;
    if (!server.alive) {
      this.#forget(key, shared);
      return this.acquire(command, host);
    }
    let isReleased = false;
    return {
      server,
      release: async () => {
        if (isReleased) return;
        isReleased = true;
        shared.users -= 1;
        if (shared.users > 0) return;
        this.#forget(key, shared);
        await server.rpc.process.child.stop();
      },
    };
  }

  /**
   * Makes a server unload a thread that no conversation there uses any more: otherwise the server would stay its only
   * writer as long as others use that server. Returns false if no server has it. Codex offers no other way to unload a
   * thread; after a crash in between, the thread is archived and gets restored when it is opened next.
   */
  async unload(threadId: string): Promise<boolean> {
    for (const shared of this.#shared.values()) {
      const server = await shared.server.catch(() => null);
      if (server === null || !server.alive || !(await server.hasIdle(threadId))) continue;
      await server.rpc.call("thread/archive", { threadId });
      await server.rpc.call("thread/unarchive", { threadId });
      return true;
    }
    return false;
  }

  #start(key: string, command: SpawnCommand, { processes, consent }: ServerHost): Shared {
    const shared: Shared = { server: AppServer.start(command, { ...this.#deps, processes }, consent), users: 0 };
    this.#shared.set(key, shared);
    shared.server.then(
      (server) => server.rpc.process.ended.then(() => this.#forget(key, shared)),
      () => this.#forget(key, shared),
    );
    return shared;
  }

  #forget(key: string, shared: Shared): void {
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
  }
}
