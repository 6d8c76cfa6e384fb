// How much clients of the embedded broker may send, and leave with it.

const SMALL_BYTES = 4096

/** A bucket of messages: `burst` at once, then one `each` so many milliseconds. A large one counts
    as many. */
export class Bucket {
  constructor ({ burst, each }) {
    this.each = each
    this.credit = burst * each
    this.free = Date.now() - this.credit
  }

  /** Take one of so many bytes out; how many milliseconds it has to wait. */
  take (bytes) {
    const now = Date.now()
    this.free = Math.max(this.free, now - this.credit) + this.each * Math.ceil(bytes / SMALL_BYTES || 1)
    return Math.max(0, this.free - now)
  }
}

/** What is retained in memory: of so many topics and bytes at most. */
export class Retained {
  constructor (topics, bytes) {
    this.most = { topics, bytes }
    this.lengths = new Map()
    this.bytes = 0
  }

  /** Note what is retained at a topic from now on; a reason where it would be too much. Nothing (0
      bytes) makes room. */
  note (topic, length) {
    const before = this.lengths.get(topic)
    const bytes = this.bytes - (before ?? 0) + length
    if (length && before === undefined && this.lengths.size >= this.most.topics) return `${this.most.topics} topics are retained, which are the most`
    if (length && bytes > this.most.bytes) return `${this.most.bytes} bytes are retained, which are the most`
    this.bytes = bytes
    if (length) this.lengths.set(topic, length)
    else this.lengths.delete(topic)
    return null
  }
}

/** End a connection that sends a packet of more than `largest()` bytes, before it is held. */
export function bound (connection, largest) {
  const read = connection.read.bind(connection)
  const frames = new Frames()
  connection.read = (size) => {
    const chunk = read(size)
    if (!chunk || frames.longest(chunk) <= largest()) return chunk
    connection.destroy()
    return null
  }
}

/** Follows the lengths of packets in a stream of bytes (MQTT 3.1.1, 2.2.3). */
class Frames {
  constructor () {
    this.left = 0 // bytes of the packet's body still to come
    this.length = null // of the packet whose length is being read
    this.shift = 0
  }

  /** The longest body that is announced in a chunk. */
  longest (chunk) {
    let longest = 0
    let at = 0
    while (at < chunk.length) {
      if (this.left > 0) {
        const step = Math.min(this.left, chunk.length - at)
        this.left -= step
        at += step
      } else if (this.length === null) {
        this.length = 0
        this.shift = 0
        at += 1
      } else {
        const byte = chunk[at]
        at += 1
        this.length += (byte & 127) * 2 ** this.shift
        this.shift += 7
        if (byte < 128) {
          longest = Math.max(longest, this.length)
          this.left = this.length
          this.length = null
        }
      }
    }
    return longest
  }
}
