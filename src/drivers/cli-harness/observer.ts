/** Shows plugins what tools gave on a harness that lets nobody change it. */
import type { ConversationHost, DriverEvent, ToolUse } from "../driver.ts";

export class ToolObserver {
  readonly #host: ConversationHost;
  readonly #isPlane: (tool: string) => boolean;
  readonly #calls = new Map<string, ToolUse>();

  /** `isPlane` knows the plane's tools, whose results plugins see there. */
  constructor(host: ConversationHost, isPlane: (tool: string) => boolean) {
    this.#host = host;
    this.#isPlane = isPlane;
  }

  see(events: readonly DriverEvent[]): void {
    for (const event of events) {
      if (event.type === "tool_call" && !this.#isPlane(event.name)) {
        const { call, name: tool, kind, input } = event;
        this.#calls.set(call, { call, tool, kind, input });
      }
      if (event.type === "tool_result") this.#ended(event);
    }
  }

  #ended({ call, output, is_error }: Extract<DriverEvent, { type: "tool_result" }>): void {
    const use = this.#calls.get(call);
    this.#calls.delete(call);
    // The result is on its way to the model already, so nobody waits for what plugins make of it.
    if (use !== undefined) void this.#host.afterTool(use, { output, is_error }, new AbortController().signal);
  }
}
