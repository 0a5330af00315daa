// Components that are loaded when they are first shown: dialogs, charts. They keep the first screen small.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A component of another file. Until the file is there, shows `meanwhile`, or nothing. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>, meanwhile?: ComponentType): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [, redraw] = useState(0);
    const Shown = loaded;
    useEffect(() => {
      // Also if the file arrived since this was drawn, for another element that is gone by now.
      if (Shown) return;
      void load().then((arrived) => {
        loaded = arrived;
        redraw((count) => count + 1);
      });
    }, []);
    if (Shown) return <Shown {...props} />;
    const Meanwhile = meanwhile;
    return Meanwhile ? <Meanwhile /> : null;
  };
}
