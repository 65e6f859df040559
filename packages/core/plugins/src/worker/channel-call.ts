/** Calls a function of a channel and reads its failure: only this side knows the error itself. */
import { errorText } from "@aegis/lib/log.ts";
import { wasNeverSent } from "@aegis/lib/never-sent.ts";
import type {
  ChannelAsk,
  ChannelCall,
  ChannelContent,
  ChannelFaultKind,
  ChannelFile,
  ChannelHost,
  ChannelOptions,
} from "@aegis/plugin-api/channel.ts";
import type { ChannelMethod, ChannelReply } from "../protocol.ts";

type Request = { method: ChannelMethod; args: readonly unknown[] };
type Ask = (method: string, args: unknown[]) => Promise<unknown>;

export async function callChannel(
  options: ChannelOptions,
  { method, args }: Request,
  call: ChannelCall,
  ask: Ask,
): Promise<ChannelReply> {
  try {
    return { ok: true, value: await run(options, method, args, call, ask) };
  } catch (error) {
    if (!isChannelError(error) && !call.signal.aborted)
      call.log("error", `${method} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return faultOf(error);
  }
}

async function run(
  options: ChannelOptions,
  method: ChannelMethod,
  args: readonly unknown[],
  call: ChannelCall,
  ask: Ask,
): Promise<unknown> {
  const [first, second, about] = args;
  const place = String(first);
  switch (method) {
    case "check":
      return null;
    case "connect":
      return options.connect(call);
    case "receive":
      return options.receive(hostOf(ask), call);
    case "send":
      return options.send(place, second as ChannelContent, { ...call, ...(about as SendAbout) });
    case "ask":
      return options.ask(place, second as ChannelAsk, { ...call, ...(about as SendAbout) });
    case "typing":
      return options.typing?.(place, call);
    case "attach": {
      const data = await options.attach?.(first as ChannelFile, call);
      if (!(data instanceof Uint8Array)) throw new TypeError("attach() should return a Uint8Array");
      return Buffer.from(data).toString("base64");
    }
    case "openThread":
      return options.openThread?.(place, String(second), call);
    case "acknowledge":
      return options.acknowledge?.(place, String(second), call);
  }
}

type SendAbout = { key: string; repeated: boolean };

function hostOf(ask: Ask): ChannelHost {
  return {
    cursor: () => ask("cursor", []) as ReturnType<ChannelHost["cursor"]>,
    admit: (batch, position) => ask("admit", [batch, position]) as Promise<void>,
    alive: () => void ask("alive", []),
  };
}

function faultOf(error: unknown): ChannelReply {
  if (!isChannelError(error)) {
    const mayHaveArrived = !wasNeverSent(error);
    return { ok: false, kind: "unreachable", message: errorText(error), afterMs: null, mayHaveArrived };
  }
  const { kind, message, retryAfter, mayHaveArrived } = error;
  const afterMs = typeof retryAfter === "number" && retryAfter >= 0 ? retryAfter * 1000 : null;
  return { ok: false, kind, message, afterMs, mayHaveArrived: mayHaveArrived === true };
}

/** By name: a plugin may have loaded another copy of the class. */
function isChannelError(error: unknown): error is Error & {
  kind: ChannelFaultKind;
  retryAfter: number | null;
  mayHaveArrived: boolean;
} {
  return error instanceof Error && error.name === "ChannelError" && "kind" in error;
}
