public import BothyStore

/// The content of one exchange from the server: the outcomes of operations, and a page of changes for each pull.
public struct SyncResponse: Sendable, Hashable {
  /// One outcome for each operation, in the order of the request. The last ones are missing if their records had no
  /// room. These operations stay in doubt, and are sent again.
  package var outcomes: [Outcome]
  /// One page for each pull, in the order of the request.
  package var pages: [Page]
  /// The server's clock, in milliseconds since 1970.
  package var serverTime: Int64
  /// The history of the answer; `nil` from a server without an identity.
  package var history: ServerHistory?
  /// The server's name for the sender; `nil` if the server doesn't identify users.
  package var user: String?
  /// Blobs that the server lacks, each by a checksum of its name. A device that has one uploads it.
  package var wantedBlobs: [String] = []

  /// The changes of one scope, in the order of their positions.
  public struct Page: Sendable, Hashable {
    /// The requested scope, which identifies the page.
    package var scope: SyncScope
    /// Inserted or updated records in their present state, and tombstones.
    package var changes: [ServerRecord]
    /// Records that left the scope or that the user may no longer see, without deletions.
    package var outOfScope: [RecordID]
    /// The cursor of the next pull.
    package var cursor: String
    /// True if more changes are available now.
    package var more: Bool
    /// True if this page starts a complete snapshot of the scope. The server could not use the cursor, because of
    /// another epoch, the tombstone floor or other rights.
    package var reset: Bool
    /// Records of the page that can't be read. Servers don't send this; the reader of the page notes them.
    package var unreadable: [UnreadableRecord] = []
    /// True if the cursor belongs to another history, or is ahead of this one. The server was replaced, restored or
    /// emptied. It is set with `reset`.
    package var isOtherHistory = false
    /// The types of which the sender sees other records than at the time of the cursor. A device that declares one must
    /// request its records again.
    package var types: [String] = []

    /// - Parameter cursor: a token that the server alone can read.
    public init(
      scope: SyncScope, changes: [ServerRecord] = [], outOfScope: [RecordID] = [], cursor: String,
      more: Bool = false, reset: Bool = false
    ) {
      self.scope = scope
      self.changes = changes
      self.outOfScope = outOfScope
      self.cursor = cursor
      self.more = more
      self.reset = reset
    }
  }

  /// Makes a response, empty by default.
  public init(outcomes: [Outcome] = [], pages: [Page] = [], serverTime: Int64) {
    self.outcomes = outcomes
    self.pages = pages
    self.serverTime = serverTime
  }
}

extension SyncResponse {
  /// Returns the response as JSON, in UTF-8.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter(reserving: 256 + pages.reduce(0) { $0 + $1.changes.count } * 300)
    writer.beginObject()
    writer.member("serverTime", serverTime)
    if let history {
      writer.key("history")
      history.write(to: &writer)
    }
    if let user { writer.member("principal", user) }
    writer.array("outcomes", outcomes) { $1.write(to: &$0) }
    writer.array("pages", pages) { $1.write(to: &$0) }
    if !wantedBlobs.isEmpty { writer.names("wantedBlobs", wantedBlobs) }
    writer.endObject()
    return writer.bytes
  }

  /// Parses a response from its JSON in UTF-8, without unknown members. Throws an error whose text names the member that
  /// is missing or of the wrong type. Costs one pass over the bytes.
  public init(decoding bytes: [UInt8]) throws {
    self = try bytes.withUnsafeBytes { try Self(decoding: $0) }
  }

  /// Parses a response. Skips unknown members, so that a newer server can send more. Throws `JSONError`, also for a
  /// document that lacks a required member.
  package init(decoding bytes: some ContiguousBytesSource) throws {
    var response = SyncResponse(serverTime: 0)
    var needed: Set = ["serverTime", "outcomes", "pages"]
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        needed.remove(name)
        switch name {
        case "serverTime": response.serverTime = try reader.int()
        case "history": response.history = try ServerHistory(from: &reader)
        case "principal": response.user = try reader.nextIsNull() ? nil : reader.string()
        case "outcomes": try reader.array { response.outcomes.append(try Outcome(from: &$0)) }
        case "wantedBlobs": try reader.array { response.wantedBlobs.append(try $0.string()) }
        case "pages": try reader.array { response.pages.append(try Page(from: &$0)) }
        default: try reader.skip()
        }
      }
    }
    guard needed.isEmpty else {
      throw JSONError(reason: "the answer needs '\(needed.sorted().joined(separator: "', '"))'", offset: 0)
    }
    self = response
  }
}

extension SyncResponse.Page {
  /// Writes `{"container","children"?,"cursor","more"?,"reset"?,"otherHistory"?,"changes","outOfScope"?,"types"?,
  /// "unreadable"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    scope.writeMembers(to: &writer)
    writer.member("cursor", cursor)
    if more { writer.member("more", true) }
    if reset { writer.member("reset", true) }
    if isOtherHistory { writer.member("otherHistory", true) }
    writer.array("changes", changes) { $1.write(to: &$0) }
    if !outOfScope.isEmpty { writer.list("outOfScope", outOfScope) { $0.members($1) } }
    if !types.isEmpty { writer.names("types", types) }
    if !unreadable.isEmpty { writer.array("unreadable", unreadable) { $1.write(to: &$0) } }
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. A change that can't be read is noted in `unreadable`.
  /// Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var page = SyncResponse.Page(scope: SyncScope(container: ""), cursor: "")
    try reader.object { name, reader in
      switch name {
      case "container": page.scope.container = try reader.string()
      case "children": page.scope.includesChildren = try reader.bool()
      case "cursor": page.cursor = try reader.string()
      case "more": page.more = try reader.bool()
      case "reset": page.reset = try reader.bool()
      case "otherHistory": page.isOtherHistory = try reader.bool()
      case "changes": try reader.array { try page.readChange(&$0) }
      case "unreadable": try reader.array { page.unreadable.append(try UnreadableRecord(from: &$0)) }
      case "types": try reader.array { page.types.append(try $0.string()) }
      case "outOfScope": try reader.array { page.outOfScope.append(try Self.recordID(&$0)) }
      default: try reader.skip()
      }
    }
    self = page
  }

  private mutating func readChange(_ reader: inout JSONReader) throws {
    let start = reader
    do { changes.append(try ServerRecord(from: &reader)) } catch let error as JSONError {
      reader = start
      unreadable.append(try UnreadableRecord(skipping: &reader, error))
    }
  }

  private static func recordID(_ reader: inout JSONReader) throws -> RecordID {
    var id = RecordID(type: "", id: "")
    try reader.object { name, reader in
      switch name {
      case "type": id.type = try reader.string()
      case "id": id.id = try reader.string()
      default: try reader.skip()
      }
    }
    return id
  }
}
