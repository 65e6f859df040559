/** An image of a message. The daemon checked its bytes; the page gives it one of the known types and no address of its own. */

import type { Attachment, Message } from "@aegis/contract/message.ts";
import { useEffect, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { oneLine } from "../model/format.ts";
import { Icon } from "./icon.tsx";

const types: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export function MessageImage({ message, file }: { message: Message["id"]; file: Attachment }) {
  const [address, setAddress] = useState<string | null>(null);
  const [isLarge, setLarge] = useState(false);
  useEffect(() => {
    if (!types.has(file.media_type)) return;
    let made: string | null = null;
    let gone = false;
    client.call("getAttachment", { path: { message, sha256: file.sha256 } }).then(
      ({ data }) => {
        if (gone) return;
        const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
        made = URL.createObjectURL(new Blob([bytes], { type: file.media_type }));
        setAddress(made);
      },
      () => {},
    );
    return () => {
      gone = true;
      if (made !== null) URL.revokeObjectURL(made);
    };
  }, [message, file.sha256]);
  const name = oneLine(file.name, 60);
  if (address === null)
    return (
      <span class="chip">
        <Icon name="image" /> {name}
      </span>
    );
  return (
    <button
      type="button"
      class={`message-image ${isLarge ? "large" : ""}`}
      aria-pressed={isLarge}
      title={isLarge ? "Make it smaller" : "Make it larger"}
      onClick={() => setLarge(!isLarge)}
    >
      <img src={address} alt={name} />
    </button>
  );
}
