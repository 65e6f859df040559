/** Sends requests of the API to the node that can answer them. */
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { isHere, nodeOf } from "./node-of.ts";
import type { Commands } from "./requests.ts";

/** A request of the API, as another node receives it. */
export type RemoteRequest = { route: string; request: unknown; caller: unknown };

export type RemoteCallsOptions = {
  store: Store;
  commands: Commands;
  /** The node that runs the channels; null if it is this one. */
  channelsNode: () => Promise<string | null>;
};

const command = "request";
/** A landing waits for its check, which may take an hour. */
const patienceMs = 70 * 60_000;

export class RemoteCalls {
  readonly #options: RemoteCallsOptions;

  constructor(options: RemoteCallsOptions) {
    this.#options = options;
  }

  /** Answers the requests of other nodes. */
  serve(answer: (request: RemoteRequest) => Promise<unknown>): void {
    this.#options.commands.handle(command, (args) => answer(args as RemoteRequest));
  }

  /** The node of a session that is not on this one; null if it is here. */
  nodeOf(session: SessionRow): string | null {
    return isHere(this.#options.store, session) ? null : (session.node ?? null);
  }

  channelsNode(): Promise<string | null> {
    return this.#options.channelsNode();
  }

  /** The other nodes that are alive. */
  async others(): Promise<string[]> {
    const { store } = this.#options;
    const own = nodeOf(store);
    const nodes = await store.read.nodes.list();
    return nodes.filter(({ name, alive, lease_ms }) => name !== own && alive && lease_ms >= 0).map(({ name }) => name);
  }

  /** Throws the error of the other node, and `unavailable` with its name if it is away. */
  ask(node: string, request: RemoteRequest): Promise<unknown> {
    return this.#options.commands.send(node, command, request, patienceMs);
  }
}
