public import BothyStore

/// What one exchange carries to the server: operations, and the places to pull from.
///
/// The version of the wire is part of the URL. Ledger: 1 — first version.
public struct SyncRequest: Sendable, Hashable {
  /// The random id of this installation's database file.
  public var device: String
  /// The app's schema version, which the server compares with the lowest it takes.
  public var schemaVersion: Int
  /// In the order they are to be applied.
  public var operations: [SyncOperation]
  /// The places to pull from: each gets a page in the answer, in this order.
  public var pulls: [Pull]
  /// The most changes wanted in the pages of the answer together.
  public var limit: Int
  /// The smallest id of this device's operations whose outcome it does not know: the server may forget those
  /// before it.
  public var oldestOpen: String?
  /// Whose work this is, where the device knows; a server that knows the sender as somebody else refuses all of it.
  public var principal: String?
  /// The history that the device has followed: another server, or one that can't go on from it, refuses the operations.
  public var history: ServerHistory?

  /// One place to pull changes from.
  public struct Pull: Sendable, Hashable {
    /// The container, with or without those below it.
    public var scope: PullScope
    /// The token of the last pull; nil pulls from the start.
    public var cursor: String?

    /// - Parameter cursor: nil brings everything, from the start.
    public init(_ scope: PullScope, cursor: String? = nil) {
      self.scope = scope
      self.cursor = cursor
    }
  }

  /// Carries nothing unless told otherwise, and asks for a thousand changes at most.
  public init(
    device: String, schemaVersion: Int = 1, operations: [SyncOperation] = [], pulls: [Pull] = [],
    limit: Int = 1000, oldestOpen: String? = nil, principal: String? = nil, history: ServerHistory? = nil
  ) {
    self.device = device
    self.schemaVersion = schemaVersion
    self.operations = operations
    self.pulls = pulls
    self.limit = limit
    self.oldestOpen = oldestOpen
    self.principal = principal
    self.history = history
  }
}

/// A container, with or without the containers below it. The root `""` with its children is the whole space.
public struct PullScope: Sendable, Hashable, Codable {
  /// A path, its parts divided by `/`; empty for the root.
  public var container: String
  /// Whether the containers below it belong to it.
  public var includesChildren: Bool

  /// The container alone, unless told otherwise.
  public init(container: String, includesChildren: Bool = false) {
    self.container = container
    self.includesChildren = includesChildren
  }

  /// Everything that the principal may read.
  public static let space = PullScope(container: "", includesChildren: true)

  /// Whether records of `container` belong to the scope.
  public func contains(_ container: String) -> Bool {
    if container == self.container { return true }
    guard includesChildren else { return false }
    return self.container.isEmpty || container.hasPrefix(self.container + "/")
  }

  /// Whether every container of `other` belongs to this scope.
  public func contains(_ other: PullScope) -> Bool {
    self == other || (includesChildren && contains(other.container))
  }

  /// Whether some container may belong to both scopes.
  public func overlaps(_ other: PullScope) -> Bool {
    contains(other.container) || other.contains(container)
  }
}

extension SyncRequest {
  /// The request as JSON, UTF-8.
  public func encoded() -> [UInt8] {
    var writer = JSONWriter(reserving: 256 + operations.count * 256)
    writer.beginObject()
    writer.key("device")
    writer.value(device)
    writer.key("schema")
    writer.value(schemaVersion)
    writer.key("limit")
    writer.value(limit)
    if let oldestOpen {
      writer.key("oldestOpen")
      writer.value(oldestOpen)
    }
    if let principal {
      writer.key("principal")
      writer.value(principal)
    }
    if let history {
      writer.key("history")
      history.write(to: &writer)
    }
    writer.key("pulls")
    writer.beginArray()
    for pull in pulls {
      writer.beginObject()
      pull.scope.writeMembers(to: &writer)
      if let cursor = pull.cursor {
        writer.key("cursor")
        writer.value(cursor)
      }
      writer.endObject()
    }
    writer.endArray()
    writer.key("operations")
    writer.beginArray()
    for operation in operations { operation.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  /// Parses a request. Throws `JSONError` that names what is missing, unknown or of the wrong type.
  public init(decoding bytes: some ContiguousBytesSource) throws {
    var request = SyncRequest(device: "")
    try JSONReader.read(bytes) { reader in
      try reader.object { name, reader in
        switch name {
        case "device": request.device = try reader.string()
        case "schema": request.schemaVersion = Int(clamping: try reader.int())
        case "limit": request.limit = Int(clamping: try reader.int())
        case "oldestOpen": request.oldestOpen = try reader.nextIsNull() ? nil : reader.string()
        case "principal": request.principal = try reader.nextIsNull() ? nil : reader.string()
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
    var pull = SyncRequest.Pull(PullScope(container: ""))
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

extension PullScope {
  /// Writes the members `container` and, if set, `children` into the object that is open.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.key("container")
    writer.value(container)
    if includesChildren {
      writer.key("children")
      writer.value(true)
    }
  }
}
