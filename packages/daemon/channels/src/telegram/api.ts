/**
 * The Bot API calls that Aegis uses. The library's errors contain the token in their details, so this module throws
 * its own errors with the method and Telegram's description only. File links contain the token as well: files
 * are downloaded here.
 */

import { causeText, wasNeverSent } from "@aegis/lib/never-sent.ts";
import { Api, GrammyError, HttpError, InputFile } from "grammy";
import { ChannelFault } from "../fault.ts";

export type TelegramApiOptions = { token: string; root?: string | undefined };

/** The longest download that Telegram offers. */
const largestFile = 20 * 1024 * 1024;
const requestSeconds = 30;
/** The library's own limit. Every call has a shorter one. */
const longestCallSeconds = 500;
const downloadMs = 60_000;
const defaultRoot = "https://api.telegram.org";

export type TelegramApi = ReturnType<typeof telegramApi>;

export function telegramApi({ token, root = defaultRoot }: TelegramApiOptions) {
  const address = root.replace(/\/+$/, "");
  const api = new Api(token, { apiRoot: address, timeoutSeconds: longestCallSeconds, fetch: nodeFetch as never });
  const hidden = (text: string) => text.replaceAll(token, "…");
  type Raw = typeof api.raw;
  type Method = Exclude<keyof Raw, symbol>;
  type Payload<M extends Method> = Parameters<Raw[M]>[0];
  type Result<M extends Method> = Awaited<ReturnType<Raw[M]>>;
  async function guarded<T>(
    method: string,
    run: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
    seconds: number,
  ): Promise<T> {
    try {
      return await run(AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)]));
    } catch (error) {
      signal.throwIfAborted();
      throw faultOf(method, error, hidden);
    }
  }
  function call<M extends Method>(
    method: M,
    payload: Payload<M>,
    signal: AbortSignal,
    seconds = requestSeconds,
  ): Promise<Result<M>> {
    const run = api.raw[method] as (payload: unknown, signal: AbortSignal) => Promise<Result<M>>;
    return guarded(method, (limit) => run(payload, limit), signal, seconds);
  }
  return {
    call,
    getMe: (signal: AbortSignal) =>
      guarded("getMe", (limit) => api.getMe(limit as Parameters<typeof api.getMe>[0]), signal, requestSeconds),
    file: (name: string, text: string) => new InputFile(Buffer.from(text), name),
    /** Fetches a file that a person sent. */
    async download(fileId: string, signal: AbortSignal): Promise<Uint8Array> {
      const { file_path, file_size = 0 } = await call("getFile", { file_id: fileId }, signal);
      if (file_path === undefined || file_size > largestFile) throw new ChannelFault("rejected", "the file is too big");
      const limit = AbortSignal.any([signal, AbortSignal.timeout(downloadMs)]);
      try {
        const response = await fetch(`${address}/file/bot${token}/${file_path}`, { signal: limit });
        if (!response.ok) throw new ChannelFault("rejected", `the download failed with status ${response.status}`);
        return await bodyOf(response);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ChannelFault) throw error;
        throw new ChannelFault("unreachable", `the download failed: ${hidden(causeText(error))}`);
      }
    },
  };
}

/** The parts of a request of the library that Node's fetch has to be told in its own way. */
type LibraryRequest = Omit<RequestInit, "signal"> & {
  signal?: { aborted: boolean; addEventListener(type: "abort", listener: () => void): void };
};

/** Node's own fetch. The library passes a signal of another class, and the body of a file as a stream. */
function nodeFetch(url: string, { signal, body, method, headers }: LibraryRequest): Promise<Response> {
  const end = new AbortController();
  if (signal?.aborted === true) end.abort();
  signal?.addEventListener("abort", () => end.abort());
  const request = { method, headers, body, signal: end.signal, duplex: "half" };
  return fetch(url, request as RequestInit);
}

async function bodyOf(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > largestFile) throw new ChannelFault("rejected", "the file is too big");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function faultOf(method: string, error: unknown, hidden: (text: string) => string): ChannelFault {
  if (error instanceof GrammyError) {
    const { error_code: code, parameters } = error;
    const text = `${method}: ${hidden(error.description)}`;
    if (code === 401 || code === 404) return new ChannelFault("unauthorized", `Telegram rejects the token (${text})`);
    if (code === 403) return new ChannelFault("blocked", text);
    if (code === 409) return new ChannelFault("conflict", text);
    if (code === 429) return new ChannelFault("rate_limited", text, { afterMs: (parameters.retry_after ?? 1) * 1000 });
    return new ChannelFault(code >= 500 ? "unreachable" : "rejected", text);
  }
  const cause = error instanceof HttpError ? error.error : error;
  const text = `${method}: Telegram cannot be reached (${hidden(causeText(cause))})`;
  return new ChannelFault("unreachable", text, { mayHaveArrived: !wasNeverSent(cause) });
}
