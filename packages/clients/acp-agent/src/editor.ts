/** The editor at the other end of the connection: what it can show, and what Aegis sends to it. */

import type { SessionId } from "@aegis/contract/ids.ts";
import {
  type AgentContext,
  type ClientCapabilities,
  type CreateElicitationResponse,
  methods,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk/unstable";

export class Editor {
  readonly #context: AgentContext;
  readonly #capabilities: ClientCapabilities;
  /** Recorded with the answers to asks, as in `acp:zed`. */
  readonly name: string;

  constructor(context: AgentContext, capabilities: ClientCapabilities, clientName: string | undefined) {
    this.#context = context;
    this.#capabilities = capabilities;
    const word = (clientName ?? "").toLowerCase().replace(/[^a-z0-9._-]+/g, "-");
    this.name = word === "" ? "acp" : `acp:${word.slice(0, 32)}`;
  }

  get showsNotices(): boolean {
    return (this.#capabilities.session?.notices ?? null) !== null;
  }

  /** An empty `elicitation` object names no mode, and a mode that is not named must not be used. */
  get showsForms(): boolean {
    return (this.#capabilities.elicitation?.form ?? null) !== null;
  }

  update(session: SessionId, update: SessionUpdate): Promise<void> {
    return this.#context.notify(methods.client.session.update, { sessionId: session, update });
  }

  /** The signal withdraws the request: the editor gets `$/cancel_request` and its answer is not awaited. */
  requestPermission(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const options = { cancellationSignal: signal, stopWaitingOnCancel: true };
    return this.#context.request(methods.client.session.requestPermission, request, options);
  }

  /** Asks for one text, or one of the choices. */
  async requestAnswer(
    session: SessionId,
    question: string,
    choices: readonly string[],
    signal: AbortSignal,
  ): Promise<string | null> {
    const answer = { type: "string" as const, title: "Answer", ...(choices.length > 0 ? { enum: [...choices] } : {}) };
    const requestedSchema = { type: "object" as const, properties: { answer }, required: ["answer"] };
    const response: CreateElicitationResponse = await this.#context.request(
      methods.client.elicitation.create,
      { mode: "form", sessionId: session, message: question, requestedSchema },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    if (response.action !== "accept" || !("content" in response)) return null;
    const content: unknown = response.content;
    const value = typeof content === "object" && content !== null && "answer" in content ? content.answer : null;
    return typeof value === "string" && value !== "" ? value : null;
  }
}
