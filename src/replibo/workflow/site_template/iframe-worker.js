// A browser starts no worker from a file. Search then runs in a hidden frame, which has the same interface.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.waiting = [];
      this.scope.postMessage = data => this.answer(data);
      this.scope.importScripts = (...urls) => Promise.all(urls.map(address => this.load(address)));
      this.load(url).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach(data => this.postMessage(data));
      });
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.scope.document.createElement("script");
        Object.assign(script, { src: url, onload: resolve, onerror: reject });
        this.scope.document.body.append(script);
      });
    }
    postMessage(data) {
      if (!this.ready) return void this.waiting.push(data);
      this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data }));
    }
    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {}
  };
}
