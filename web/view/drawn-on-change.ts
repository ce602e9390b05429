// A component that is drawn again only when one of its props is another value. With 50 sessions, what a message says
// about one of them must not cost the drawing of the others.

import { Component, type ComponentClass, type FunctionComponent, h } from "preact";

export function drawnOnChange<Props extends object>(draw: FunctionComponent<Props>): ComponentClass<Props> {
	return class extends Component<Props> {
		override shouldComponentUpdate(next: Readonly<Props>): boolean {
			return isChanged(this.props, next);
		}

		override render() {
			return h(draw, this.props as Props & { key?: never });
		}
	};
}

function isChanged<Props extends object>(before: Props, after: Props): boolean {
	const names = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof Props)[]);
	return [...names].some((name) => !Object.is(before[name], after[name]));
}
