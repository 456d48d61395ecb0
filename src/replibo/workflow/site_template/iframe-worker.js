// A browser starts no worker from a file. Search then runs in a hidden frame with the interface of a worker.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = data => this.send(data, event => this.onmessage?.(event));
      this.ready = new Promise((onload, onerror) => {
        const script = scope.document.createElement("script");
        scope.document.body.append(Object.assign(script, { src: url, onload, onerror }));
      });
      this.ready.catch(() => this.onerror?.(new Event("error", { cancelable: true })));
      this.frame = frame;
    }

    // Later and as a copy, as a message to a worker is.
    send(data, receive) {
      const copy = structuredClone(data);
      setTimeout(() => receive(new MessageEvent("message", { data: copy })));
    }

    postMessage(data) {
      this.ready.then(() => this.send(data, event => this.frame.contentWindow?.onmessage(event)));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
