import sprite from "../icons.svg?url";

/** An icon of the sprite. Decorative: the text or the label beside it says the same. */
export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" aria-hidden="true">
      <use href={`${sprite}#${name}`} />
    </svg>
  );
}
