/** Shows tool results to plugins on a harness that does not let them change results. */
import type { ConversationHost, DriverEvent, ToolUse } from "../driver.ts";

export class ToolObserver {
  readonly #host: ConversationHost;
  readonly #isPlane: (tool: string) => boolean;
  readonly #calls = new Map<string, ToolUse>();

  /** `isPlane` recognises the plane's tools; plugins see their results in the plane. */
  constructor(host: ConversationHost, isPlane: (tool: string) => boolean) {
    this.#host = host;
    this.#isPlane = isPlane;
  }

  see(events: readonly DriverEvent[]): void {
    for (const event of events) {
      if (event.type === "tool_call" && !this.#isPlane(event.name)) {
        const { call, name: tool, kind, input, diff, locations } = event;
        const paths = locations.map(({ path }) => path);
        if (kind === "read") this.#host.noteRead(paths);
        const changes = (diff === null ? paths : [diff.path]).map((path) => ({ path, after: "" }));
        this.#calls.set(call, { call, tool, kind, input, files: () => (kind === "edit" ? { changes } : {}) });
      }
      if (event.type === "tool_result") this.#ended(event);
    }
  }

  #ended({ call, output, is_error }: Extract<DriverEvent, { type: "tool_result" }>): void {
    const use = this.#calls.get(call);
    this.#calls.delete(call);
    // The harness has already passed the result to the model, so this does not wait for the plugins.
    if (use !== undefined) void this.#host.afterTool(use, { output, is_error }, new AbortController().signal);
  }
}
