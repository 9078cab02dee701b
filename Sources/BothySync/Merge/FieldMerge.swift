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
    ) { context.schema?[$0]?.merge ?? .remote }
    return context.isTogether && yields(context, merged) ? .server : .merged(merged)
  }

  /// True if a field that both sides changed takes the server's value by its rule, or because the rule can't combine the
  /// two values, such as with one that was cleared.
  private static func yields(_ context: MergeContext, _ merged: [String: JSONValue]) -> Bool {
    guard let client = context.client, let server = context.serverFields else { return false }
    return Set(client.keys).union(server.keys).contains { name in
      let base = context.base?[name] ?? .null
      let (mine, theirs) = (client[name] ?? .null, server[name] ?? .null)
      guard mine != base, theirs != base, merged[name] ?? .null == theirs else { return false }
      let rule = context.schema?[name]?.merge ?? .remote
      switch rule {
      case .remote, .latest: return true
      case .local, .max, .min: return false
      case .counter, .setUnion, .keepBoth:
        return mine != theirs && combined(base: base, client: mine, server: theirs, rule: rule) == nil
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
    if let value = unopposed(base: base, client: client, server: server, rule: rule) { return value }
    switch rule {
    case .remote: return server
    case .local: return client
    case .latest: return clientIsLater ? client : server
    case .max, .min, .counter, .setUnion, .keepBoth:
      return combined(base: base, client: client, server: server, rule: rule) ?? server
    }
  }

  /// Returns the value of a field with an edit on top of another. Returns `nil` if the rule chooses one of the two, or
  /// if it can't combine their values.
  static func sum(
    base: JSONValue, client: JSONValue, server: JSONValue, rule: FieldMergeRule
  ) -> JSONValue? {
    combined(base: base, client: client, server: server, rule: rule).map { both in
      unopposed(base: base, client: client, server: server, rule: rule) ?? both
    }
  }

  /// Returns the value of a field that only one side changed, or both to the same, or `nil`.
  private static func unopposed(
    base: JSONValue, client: JSONValue, server: JSONValue, rule: FieldMergeRule
  ) -> JSONValue? {
    if client == base { return server }
    if server == base { return client }
    return client == server && rule != .counter ? server : nil
  }

  /// Returns the value that has both edits of a field that both sides changed, or `nil` as `sum` does.
  private static func combined(
    base: JSONValue, client: JSONValue, server: JSONValue, rule: FieldMergeRule
  ) -> JSONValue? {
    switch rule {
    case .remote, .local, .latest: return nil
    case .max: return client.isNull ? nil : isLess(client, server) ? server : client
    case .min: return isLess(client, server) ? client : server
    case .counter: return counter(base, client, server)
    case .setUnion: return union(base, client, server)
    case .keepBoth: return both(base, client, server)
    }
  }

  /// Returns the server's value plus the local addition.
  private static func counter(_ base: JSONValue, _ client: JSONValue, _ server: JSONValue) -> JSONValue? {
    if let client = client.intValue, let server = server.intValue {
      return .int(server.addingClamped(client.subtractingClamped(base.intValue ?? 0)))
    }
    if let client = client.stringValue, let server = server.stringValue {
      return DecimalTotal.counted(server, from: base.stringValue, to: client).map { .string($0) }
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
  /// True for a rule that makes one value of two rather than choosing a side.
  var combines: Bool {
    switch self {
    case .remote, .local, .latest: false
    case .max, .min, .counter, .setUnion, .keepBoth: true
    }
  }

  /// The rule for two edits of one person, one after the other. A rule that chooses a side takes the later edit.
  var ofOnePerson: FieldMergeRule {
    switch self {
    case .remote, .local, .latest, .max, .min, .keepBoth: .local
    case .counter, .setUnion: self
    }
  }
}

/// A three-way merge of lists without repetitions. The result has what either side added, and lacks what either side
/// removed.
///
/// An added element stays behind the element that it was added behind, the server's before this device's. If only one
/// side reordered the common elements, the result has its order.
struct ListMerge {
  let result: [JSONValue]

  init(base: [JSONValue], mine: [JSONValue], theirs: [JSONValue]) {
    let before = Set(base)
    let common = before.intersection(mine).intersection(theirs)
    func order(_ list: [JSONValue]) -> [JSONValue] { list.filter(common.contains) }
    let isMineReordered = order(mine) != order(base) && order(theirs) == order(base)
    let (backbone, other) = isMineReordered ? (mine, theirs) : (theirs, mine)
    let removed = before.subtracting(other)
    let list = backbone.filter { !removed.contains($0) }
    result = Self.inserting(
      other, into: list, before: before, known: Set(backbone), isServerFirst: !isMineReordered)
  }

  /// Adds the new elements of `other` behind the neighbours that they have there.
  private static func inserting(
    _ other: [JSONValue], into list: [JSONValue], before: Set<JSONValue>, known: Set<JSONValue>,
    isServerFirst: Bool
  ) -> [JSONValue] {
    let places = Dictionary(list.enumerated().map { ($1, $0) }, uniquingKeysWith: { $1 })
    // The elements to add behind each element of the list, by index, with -1 for its beginning.
    var following: [Int: [JSONValue]] = [:]
    var added: Set<JSONValue> = []
    var place = -1
    for element in other {
      if let known = places[element] {
        place = known
      } else if !before.contains(element), !known.contains(element), added.insert(element).inserted {
        var end = place
        while isServerFirst, end + 1 < list.count, !before.contains(list[end + 1]) { end += 1 }
        following[end, default: []].append(element)
      }
    }
    guard !added.isEmpty else { return list }
    var result = following[-1] ?? []
    for (index, element) in list.enumerated() {
      result.append(element)
      result += following[index] ?? []
    }
    return result
  }
}
