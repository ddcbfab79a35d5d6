// Puts the channel of this process, if it has one, on a native lane. A child
// that forklane started has done that already.
export {}
