import BothyStore

/// The content of one exchange to the server: operations, and the scopes to pull from.
///
/// The version of the protocol is part of the URL. Versions: 1 — first version.
public struct SyncRequest: Sendable, Hashable {
  /// The random id of this installation's database file.
  public var device: String
  /// The app's schema version, which the server compares with the lowest accepted one.
  public var schemaVersion: Int
  /// The operations, in the order of their application.
  public var operations: [SyncOperation]
  /// The scopes to pull from. Each gets a page in the answer, in this order.
  public var pulls: [Pull]
  /// The most changes in all pages of the answer.
  public var limit: Int
  /// The smallest id of this device's operations without a known outcome. The server may forget the ones before it.
  package var oldestOpen: String?
  /// The user of the changes, if the device knows it. A server that knows the sender as another user refuses the
  /// request.
  package var user: String?
  /// The history that the device was synced with. Another server, or one that doesn't continue it, refuses the
  /// operations.
  package var history: ServerHistory?

  /// One scope to pull changes from.
  public struct Pull: Sendable, Hashable {
    /// The container, with or without those below it.
    public var scope: SyncScope
    /// The token of the last pull; `nil` pulls from the start.
    public var cursor: String?

    /// - Parameter cursor: `nil` pulls all records, from the start.
    package init(_ scope: SyncScope, cursor: String? = nil) {
      self.scope = scope
      self.cursor = cursor
    }
  }

  /// Makes a request, empty by default and for a thousand changes at most.
  package init(
    device: String, schemaVersion: Int = 1, operations: [SyncOperation] = [], pulls: [Pull] = [],
    limit: Int = 1000, oldestOpen: String? = nil, user: String? = nil, history: ServerHistory? = nil
  ) {
    self.device = device
    self.schemaVersion = schemaVersion
    self.operations = operations
    self.pulls = pulls
    self.limit = limit
    self.oldestOpen = oldestOpen
    self.user = user
    self.history = history
  }
}

extension SyncRequest {
  /// Returns the request as JSON, in UTF-8.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter(reserving: 256 + operations.count * 256)
    writer.beginObject()
    writer.member("device", device)
    writer.member("schema", schemaVersion)
    writer.member("limit", limit)
    if let oldestOpen { writer.member("oldestOpen", oldestOpen) }
    if let user { writer.member("principal", user) }
    if let history {
      writer.key("history")
      history.write(to: &writer)
    }
    writer.list("pulls", pulls) { writer, pull in
      pull.scope.writeMembers(to: &writer)
      if let cursor = pull.cursor { writer.member("cursor", cursor) }
    }
    writer.array("operations", operations) { $1.write(to: &$0) }
    writer.endObject()
    return writer.bytes
  }

  /// Parses a request from its JSON in UTF-8. Throws an error whose text names the member that is missing,
  /// unknown or of the wrong type. Costs one pass over the bytes.
  public init(decoding bytes: [UInt8]) throws {
    self = try bytes.withUnsafeBytes { try Self(decoding: $0) }
  }

  /// Parses a request. Throws `JSONError`, with the member that is missing, unknown or of the wrong type.
  package init(decoding bytes: some ContiguousBytesSource) throws {
    var request = SyncRequest(device: "")
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        switch name {
        case "device": request.device = try reader.string()
        case "schema": request.schemaVersion = Int(clamping: try reader.int())
        case "limit": request.limit = Int(clamping: try reader.int())
        case "oldestOpen": request.oldestOpen = try reader.nextIsNull() ? nil : reader.string()
        case "principal": request.user = try reader.nextIsNull() ? nil : reader.string()
        case "history": request.history = try reader.nextIsNull() ? nil : ServerHistory(from: &reader)
        case "pulls": try reader.array { request.pulls.append(try Pull(from: &$0)) }
        case "operations": try reader.array { request.operations.append(try SyncOperation(from: &$0)) }
        default: throw JSONError(reason: "a sync request has no member '\(name)'", offset: reader.offset)
        }
      }
    }
    guard !request.device.isEmpty else {
      throw JSONError(reason: "a sync request needs 'device'", offset: 0)
    }
    self = request
  }
}

extension SyncRequest.Pull {
  fileprivate init(from reader: inout JSONReader) throws {
    var pull = SyncRequest.Pull(SyncScope(container: ""))
    try reader.object { name, reader in
      switch name {
      case "container": pull.scope.container = try reader.string()
      case "children": pull.scope.includesChildren = try reader.bool()
      case "cursor": pull.cursor = try reader.nextIsNull() ? nil : reader.string()
      default: throw JSONError(reason: "a pull has no member '\(name)'", offset: reader.offset)
      }
    }
    self = pull
  }
}
