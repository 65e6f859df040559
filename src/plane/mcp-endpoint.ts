/** MCP over streamable HTTP for both eras of the protocol, stateless: every request stands for itself. */
import { type CallToolResult, createMcpHandler, type McpHttpHandler, Server } from "@modelcontextprotocol/server";
import { messageMaxBytes } from "../contract/message.ts";
import { errorText } from "../lib/log.ts";
import { callName } from "./call-name.ts";
import type { Credential } from "./credentials.ts";
import type { PlaneOptions } from "./plane.ts";

/** A message at its largest, and room for the JSON around it. */
const maxBodyBytes = messageMaxBytes + 1024 * 1024;
const progressEveryMs = 3_000;
const credentialKey = "credential";

type Notify = (notification: { method: string; params?: Record<string, unknown> }) => Promise<void>;

export class McpEndpoint {
  readonly #options: PlaneOptions;
  readonly #handler: McpHttpHandler;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.#handler = createMcpHandler(
      ({ authInfo }) => {
        const credential = authInfo?.extra?.[credentialKey] as Credential | undefined;
        if (!credential) throw new Error("a request reached the MCP endpoint without a credential");
        return this.#serverFor(credential);
      },
      {
        maxRequestBodySize: maxBodyBytes,
        onerror: (error) => options.log.debug("an MCP request was refused", { error: errorText(error) }),
      },
    );
  }

  fetch(request: Request, body: string, credential: Credential): Promise<Response> {
    const authInfo = { token: "", clientId: credential.session, scopes: [], extra: { [credentialKey]: credential } };
    const parsedBody = body === "" ? undefined : parsed(body);
    if (parsedBody !== undefined) return this.#handler.fetch(request, { authInfo, parsedBody });
    // The handler has its own words for a body that is none.
    const { url, method, headers, signal } = request;
    return this.#handler.fetch(body === "" ? request : new Request(url, { method, headers, signal, body }), {
      authInfo,
    });
  }

  toolsChanged(): void {
    this.#handler.notify.toolsChanged();
  }

  close(): Promise<void> {
    return this.#handler.close();
  }

  #serverFor(credential: Credential): Server {
    const { version } = this.#options;
    const server = new Server({ name: "aegis", version }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler("tools/list", async () => {
      credential.markListed();
      return {
        tools: credential.tools.specs().map((spec) => ({
          name: spec.name,
          description: spec.description,
          inputSchema: { type: "object" as const, ...spec.inputSchema },
          annotations: { readOnlyHint: spec.readOnly },
        })),
      };
    });
    server.setRequestHandler("tools/call", async (request, { mcpReq }) => {
      const stopProgress = sendProgress(mcpReq);
      try {
        return await this.#call(credential, request.params, mcpReq.signal);
      } finally {
        stopProgress();
      }
    });
    return server;
  }

  async #call(
    credential: Credential,
    params: { name: string; arguments?: unknown; _meta?: Record<string, unknown> | undefined },
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const caller = await this.#options.store.read.sessions.get(credential.session);
    if (!caller || caller.closed_at !== null) return failure("this session is closed");
    const until = either(signal, credential.revoked);
    try {
      const key = `${caller.id}/${callName(params._meta)}`;
      const outcome = await credential.tools.call(params.name, params.arguments, { caller, key, signal: until.signal });
      return { content: [{ type: "text", text: asObject(outcome.output) }], isError: outcome.is_error };
    } finally {
      until.release();
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A harness gives up on a call that is silent for a minute or more; one that asks for progress hears of it. */
function sendProgress(request: {
  _meta?: { progressToken?: string | number | undefined } | undefined;
  notify: Notify;
}): () => void {
  const progressToken = request._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    // The client may have hung up; the call itself notices that by its signal.
    request.notify({ method: "notifications/progress", params: { progressToken, progress } }).catch(() => {});
  }, progressEveryMs);
  return () => clearInterval(timer);
}

/** Aborts with the first of them. What `AbortSignal.any` ties to a signal that lives long is only gone with it. */
function either(one: AbortSignal, other: AbortSignal): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  const both = [one, other];
  for (const signal of both) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  }
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of both) signal.removeEventListener("abort", abort);
    },
  };
}

function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** Gemini CLI takes any text that is JSON for an object and fails on a list. */
function asObject(output: string): string {
  if (!output.startsWith("[")) return output;
  try {
    return JSON.stringify({ result: JSON.parse(output) as unknown });
  } catch {
    return output;
  }
}
