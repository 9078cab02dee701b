package import BothyStore

/// The three-way merge, field by field. Pure.
package enum FieldMerge {
  static func decide(_ context: MergeContext) -> MergeDecision {
    // An edit beats a deletion. No record of a transaction is recreated without the others, so all of it gives way.
    guard let server = context.serverFields else { return context.isTogether ? .server : .client }
    guard let client = context.client else { return .server }
    let merged = merge(
      base: context.base ?? [:], client: client, server: server,
      clientIsLater: context.isEditTimeReliable && context.edited > (context.server?.modified ?? .min)
    ) { context.schema?[$0]?.merge ?? .server }
    return context.isTogether && yields(context, merged) ? .server : .merged(merged)
  }

  /// True if a field that both sides changed takes the server's value by its rule.
  private static func yields(_ context: MergeContext, _ merged: [String: JSONValue]) -> Bool {
    guard let client = context.client, let server = context.serverFields else { return false }
    return Set(client.keys).union(server.keys).contains { name in
      let base = context.base?[name] ?? .null
      let (mine, theirs) = (client[name] ?? .null, server[name] ?? .null)
      guard mine != base, theirs != base, merged[name] ?? .null == theirs else { return false }
      switch context.schema?[name]?.merge ?? .server {
      case .server, .latest: return true
      case .client, .max, .min, .counter, .setUnion, .keepBoth: return false
      }
    }
  }

  /// Merges all fields that occur on any side. An absent field is null.
  package static func merge(
    base: [String: JSONValue], client: [String: JSONValue], server: [String: JSONValue], clientIsLater: Bool,
    rule: (String) -> FieldMergeRule
  ) -> [String: JSONValue] {
    var merged: [String: JSONValue] = [:]
    for name in Set(base.keys).union(client.keys).union(server.keys) {
      let value = merge(
        base: base[name] ?? .null, client: client[name] ?? .null, server: server[name] ?? .null,
        clientIsLater: clientIsLater, rule: rule(name))
      if !value.isNull { merged[name] = value }
    }
    return merged
  }

  /// Returns the value of a field after two edits of one person, who made both from the value `read`.
  static func later(
    _ value: FieldValue, than earlier: FieldValue, readAs read: FieldValue, _ field: FieldSchema
  ) throws -> FieldValue {
    let merged = merge(
      base: read.json, client: value.json, server: earlier.json, clientIsLater: true,
      rule: field.merge.ofOnePerson)
    return try FieldValue(json: merged, kind: field.kind)
  }

  package static func merge(
    base: JSONValue, client: JSONValue, server: JSONValue, clientIsLater: Bool, rule: FieldMergeRule
  ) -> JSONValue {
    if client == base { return server }
    if server == base { return client }
    if rule == .counter { return counter(base, client, server) ?? server }
    if client == server { return server }
    switch rule {
    case .server, .counter: return server
    case .client: return client
    case .latest: return clientIsLater ? client : server
    case .max: return isLess(client, server) ? server : client
    case .min: return isLess(client, server) ? client : server
    case .setUnion: return union(base, client, server) ?? server
    case .keepBoth: return both(base, client, server) ?? server
    }
  }

  /// Returns the server's value plus the local addition.
  private static func counter(_ base: JSONValue, _ client: JSONValue, _ server: JSONValue) -> JSONValue? {
    if let client = client.intValue, let server = server.intValue {
      return .int(server.addingClamped(client.subtractingClamped(base.intValue ?? 0)))
    }
    guard let client = client.doubleValue, let server = server.doubleValue else { return nil }
    return .double(server + (client - (base.doubleValue ?? 0)))
  }

  /// Compares numbers by value and texts by their UTF-8 bytes. Null is less than anything, and other pairs aren't
  /// ordered.
  private static func isLess(_ left: JSONValue, _ right: JSONValue) -> Bool {
    if left.isNull { return !right.isNull }
    if let left = left.intValue, let right = right.intValue { return left < right }
    if let left = left.doubleValue, let right = right.doubleValue { return left < right }
    guard let left = left.stringValue, let right = right.stringValue else { return false }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  private static func union(_ base: JSONValue, _ client: JSONValue, _ server: JSONValue) -> JSONValue? {
    guard let mine = client.arrayValue ?? (client.isNull ? [] : nil),
      let theirs = server.arrayValue ?? (server.isNull ? [] : nil)
    else { return nil }
    return .array(ListMerge(base: base.arrayValue ?? [], mine: mine, theirs: theirs).result)
  }

  private static func both(_ base: JSONValue, _ client: JSONValue, _ server: JSONValue) -> JSONValue? {
    guard let mine = client.stringValue, let theirs = server.stringValue else { return nil }
    return .string(TextMerge.merge(base: base.stringValue ?? "", mine: mine, theirs: theirs))
  }
}

extension FieldMergeRule {
  /// The rule for two edits of one person, one after the other. A rule that chooses a side takes the later edit.
  var ofOnePerson: FieldMergeRule {
    switch self {
    case .server, .client, .latest, .max, .min, .keepBoth: .client
    case .counter, .setUnion: self
    }
  }
}
