/** MCP over streamable HTTP for both protocol generations. Stateless: every request is independent. */

import { messageMaxBytes } from "@aegis/contract/message.ts";
import { errorText } from "@aegis/lib/log.ts";
import { type CallToolResult, createMcpHandler, type McpHttpHandler, Server } from "@modelcontextprotocol/server";
import { z } from "zod";
import { callName } from "./call-name.ts";
import type { Credential } from "./credentials.ts";
import type { PlaneOptions } from "./plane.ts";

/** The maximum size of a message, plus room for the JSON around it. */
const maxBodyBytes = messageMaxBytes + 1024 * 1024;
const progressEveryMs = 3_000;
const credentialKey = "credential";

const cancelledMethod = "notifications/cancelled";
const cancelledSchema = z.object({
  method: z.literal(cancelledMethod),
  params: z.object({ requestId: z.union([z.string(), z.number()]), reason: z.string().optional() }),
});

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
    this.#obeyCancellations(parsedBody, credential);
    if (parsedBody !== undefined) return this.#handler.fetch(request, { authInfo, parsedBody });
    // The handler has its own error for an invalid body.
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

  /** Requests are independent, so the SDK cannot match a cancellation with its call. */
  #obeyCancellations(body: unknown, { calls, session }: Credential): void {
    for (const message of Array.isArray(body) ? body : [body]) {
      // Nearly every message is a call, and a failed parse costs more than serving one.
      if (!isCancellation(message)) continue;
      const cancelled = cancelledSchema.safeParse(message).data;
      if (cancelled === undefined) continue;
      const { requestId, reason = "the client cancelled the call" } = cancelled.params;
      const found = calls.cancel(requestId, reason);
      if (!found) this.#options.log.debug("a cancellation matches no open call", { session, requestId });
    }
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
      const call = credential.calls.begin(mcpReq.id, mcpReq.signal);
      try {
        return await this.#call(credential, request.params, call.signal);
      } finally {
        call.end();
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
    const key = `${caller.id}/${callName(params._meta)}`;
    const outcome = await credential.tools.call(params.name, params.arguments, { caller, key, signal });
    return { content: [{ type: "text", text: asObject(outcome.output) }], isError: outcome.is_error };
  }
}

function isCancellation(message: unknown): boolean {
  return typeof message === "object" && message !== null && "method" in message && message.method === cancelledMethod;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A harness gives up on a call that is silent for a minute or more. One that requests progress receives notifications.
 */
function sendProgress(request: {
  _meta?: { progressToken?: string | number | undefined } | undefined;
  notify: Notify;
}): () => void {
  const progressToken = request._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  const timer = setInterval(() => {
    progress += 1;
    // The client may have disconnected; the call notices that by its signal.
    request.notify({ method: "notifications/progress", params: { progressToken, progress } }).catch(() => {});
  }, progressEveryMs);
  return () => clearInterval(timer);
}

function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** Gemini CLI parses any JSON text as an object and fails on a list. */
function asObject(output: string): string {
  if (!output.startsWith("[")) return output;
  return parsed(output) === undefined ? output : `{"result":${output}}`;
}
