/** The app servers in use: conversations that are started alike share one, and the last to leave ends it. */
import type { DriverDeps, SpawnCommand } from "../driver.ts";
import { AppServer } from "./app-server.ts";

export type Lease = { server: AppServer; release(): Promise<void> };

type Shared = { server: Promise<AppServer>; users: number };

export class AppServers {
  readonly #deps: DriverDeps;
  readonly #shared = new Map<string, Shared>();

  constructor(deps: DriverDeps) {
    this.#deps = deps;
  }

  /** Throws `DriverError` when a new one cannot be started. */
  async acquire(command: SpawnCommand): Promise<Lease> {
    const key = JSON.stringify([command.argv, Object.entries(command.env).sort(), command.cwd]);
    const shared = this.#shared.get(key) ?? this.#start(key, command);
    shared.users += 1;
    const server = await shared.server;
    if (!server.alive) {
      this.#forget(key, shared);
      return this.acquire(command);
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
   * Makes a server let go of a thread that no conversation there speaks with any more: it would stay its only writer for
   * as long as others use that server. False when none has it. Codex has no other way to unload a thread than this;
   * cut off half way, the thread is found archived and brought back when it is next opened.
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

  #start(key: string, command: SpawnCommand): Shared {
    const shared: Shared = { server: AppServer.start(command, this.#deps), users: 0 };
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
