import BothyCore

/// A pure parser for streams of server-sent events, as in the HTML standard (section 9.2.6).
///
/// The bytes may be split anywhere, even inside a line end or a character.
package struct EventStreamParser: Sendable {
  /// One complete event: the fields up to an empty line, including `data`.
  package struct Event: Sendable, Hashable {
    /// The name of the event, or `message` if the stream has none.
    package var name: String
    /// The `data` lines, joined by line feeds. May be empty.
    package var data: String
    /// The last id in the stream, of this event or an earlier one.
    package var id: String
  }

  /// The largest number of bytes in a line. The rest of a longer line is dropped, so that a stream can't fill memory.
  package static let lineLimit = 1 << 20
  /// The number of bytes of the data of an event from which it is dropped.
  static let dataLimit = lineLimit * 4

  /// The reconnection time that the stream requests, in milliseconds.
  package private(set) var retry: Int?
  /// The id to send as `Last-Event-ID` when reconnecting.
  package private(set) var lastEventID = ""

  private var line: [UInt8] = []
  private var isFirstLine = true
  private var lastWasReturn = false
  private var name = ""
  private var data = ""
  private var hasData = false
  private var pendingID = ""

  /// Creates a parser for the beginning of a stream. It ignores a byte order mark. Each connection needs its own
  /// parser.
  package init() {}

  /// Returns the events that these bytes complete.
  package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Event] {
    var events: [Event] = []
    for byte in bytes {
      let endsPair = lastWasReturn && byte == 0x0A
      lastWasReturn = byte == 0x0D
      if endsPair { continue }
      if byte == 0x0A || byte == 0x0D {
        if let event = endLine() { events.append(event) }
      } else if line.count < Self.lineLimit {
        line.append(byte)
      }
    }
    return events
  }

  private mutating func endLine() -> Event? {
    defer { line.removeAll(keepingCapacity: true) }
    if isFirstLine {
      isFirstLine = false
      line = Array(line.afterByteOrderMark())
    }
    guard !line.isEmpty else { return dispatch() }
    guard line[0] != UInt8(ascii: ":") else { return nil }
    let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == 0x20 { value = value.dropFirst() }
    field(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
    return nil
  }

  private mutating func field(_ field: String, _ value: String) {
    switch field {
    case "event": name = value
    case "data":
      defer { hasData = true }
      // An event beyond the limit is dropped at its end, and the rest of it isn't kept.
      guard data.utf8.count < Self.dataLimit else { return }
      if hasData { data += "\n" }
      data += value
    case "id": if !value.utf8.contains(0) { pendingID = value }
    case "retry":
      if !value.isEmpty, value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) { retry = Int(value) ?? retry }
    default: break
    }
  }

  private mutating func dispatch() -> Event? {
    lastEventID = pendingID
    defer {
      name = ""
      data = ""
      hasData = false
    }
    guard hasData, data.utf8.count < Self.dataLimit else { return nil }
    return Event(name: name.isEmpty ? "message" : name, data: data, id: lastEventID)
  }
}
