// Components that are loaded when they are first shown: dialogs, charts. They keep the first screen small.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A component of another file. Shows nothing until the file is there. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [, redraw] = useState(0);
    useEffect(() => {
      if (loaded) return;
      void load().then((arrived) => {
        loaded = arrived;
        redraw((count) => count + 1);
      });
    }, []);
    const Shown = loaded;
    return Shown ? <Shown {...props} /> : null;
  };
}
