import BothyStore

/// A subscription that fits a schema, with the values of its conditions converted to the kinds of their fields.
///
/// It is decided for each record with the reference evaluator of queries.
package struct CheckedSubscription: Sendable, Hashable {
  package let subscription: Subscription
  /// The type of the records; `nil` for all types of a container.
  package let type: TypeSchema?
  /// The condition on the record itself.
  package let condition: ConditionTree
  /// The links, in the order of the subscription's.
  package let links: [Link]
  /// The included fields, with the types of their targets.
  package let includes: [Include]

  /// A link with the type of its records.
  package struct Link: Sendable, Hashable {
    package let field: String
    package let type: TypeSchema
    package let target: String
    package let condition: ConditionTree

    /// Returns the values by which a live record links others. Empty if it isn't a record of the link.
    package func values(of record: AnyRecord) -> [FieldValue] {
      guard record.type == type.name else { return [] }
      let isLink = condition.evaluate(type, { record.queried($0, type) })
      return isLink ? record.queried(target, type).linked : []
    }
  }

  /// An included field.
  package struct Include: Sendable, Hashable {
    package let field: String
    /// The type of the records that it refers to.
    package let type: String
  }
}

extension Subscription {
  /// Returns the subscription with the declarations of a schema, whose names are those of the wire.
  ///
  /// Throws `BothyError` `unknownType`, `unknownField` or `invalidQuery`, with the name and the alternatives.
  package func checked(in schema: StoreSchema) throws(BothyError) -> CheckedSubscription {
    guard let name = self.type else {
      return CheckedSubscription(subscription: self, type: nil, condition: .all, links: [], includes: [])
    }
    let own = try Self.declared(name, in: schema)
    try Self.checkFields(of: condition, own)
    var checkedLinks: [CheckedSubscription.Link] = []
    for link in links { checkedLinks.append(try Self.checked(link, of: own, in: schema)) }
    for window in windows {
      guard try Self.kind(of: window.field, own) == .date else {
        throw BothyError(
          .invalidQuery, "\(name).\(window.field) isn't a date, and no window of time can be about it.")
      }
    }
    if let place {
      guard try Self.kind(of: place.field, own) == .coordinate else {
        throw BothyError(
          .invalidQuery, "\(name).\(place.field) isn't a coordinate, and no circle can be about it.")
      }
    }
    var checkedIncludes: [CheckedSubscription.Include] = []
    for field in includes {
      guard let target = try Self.kind(of: field, own).target else {
        throw BothyError(.invalidQuery, "\(name).\(field) isn't a reference and can't be included.")
      }
      checkedIncludes.append(CheckedSubscription.Include(field: field, type: target.type))
    }
    return CheckedSubscription(
      subscription: self, type: own, condition: try condition.checked(for: own), links: checkedLinks,
      includes: checkedIncludes)
  }

  private static func declared(_ name: String, in schema: StoreSchema) throws(BothyError) -> TypeSchema {
    guard let type = schema[name], type.isSynced else {
      let known = schema.types.filter(\.isSynced).map(\.name).sorted().joined(separator: ", ")
      throw BothyError(.unknownType, "The schema has no synced type '\(name)'. Known: \(known).")
    }
    return type
  }

  /// Returns the kind of a field that a subscription may name.
  private static func kind(of name: String, _ type: TypeSchema) throws(BothyError) -> ValueKind {
    switch try type.queryField(name) {
    case .field(let field) where field.isSensitive:
      throw BothyError(
        .invalidQuery, "\(type.name).\(name) is sensitive, and no record has its value. Use another field.")
    case .version:
      throw BothyError(
        .invalidQuery, "A subscription can't depend on a record's version. Use a field or 'modified'.")
    case let found: return found.kind
    }
  }

  private static func checkFields(of condition: ConditionTree, _ type: TypeSchema) throws(BothyError) {
    var names: Set<String> = []
    _ = condition.renamingFields { name in
      names.insert(name)
      return name
    }
    for name in names.sorted() { _ = try kind(of: name, type) }
  }

  private static func checked(
    _ link: Link, of type: TypeSchema, in schema: StoreSchema
  ) throws(BothyError) -> CheckedSubscription.Link {
    let other = try declared(link.type, in: schema)
    try checkFields(of: link.condition, other)
    let (mine, theirs) = (try kind(of: link.field, type), try kind(of: link.target, other))
    guard let form = mine.linkForm, form == theirs.linkForm else {
      throw BothyError(
        .invalidQuery,
        "\(type.name).\(link.field) is \(mine.phrase) and \(other.name).\(link.target) is \(theirs.phrase). "
          + "Link fields of one kind.")
    }
    return CheckedSubscription.Link(
      field: link.field, type: other, target: link.target, condition: try link.condition.checked(for: other))
  }
}

extension ValueKind {
  /// The kind of the values by which fields of this kind are linked, or `nil` for kinds that can't be.
  fileprivate var linkForm: ValueKind? {
    switch self {
    case .text, .uuid, .reference, .references: .text
    case .bool, .int, .date: self
    case .double, .data, .coordinate, .json, .blob: nil
    }
  }
}

extension CheckedSubscription {
  /// Returns true if a live record belongs to the subscription by itself, not as an included one.
  ///
  /// - Parameter values: the values of each link, in the order of `links`. A missing one links nothing.
  package func holds(_ record: AnyRecord, at standpoint: Standpoint, links values: [LinkValues]) -> Bool {
    if let scope = subscription.scope, !scope.contains(record.container) { return false }
    guard let type else { return true }
    guard record.type == type.name else { return false }
    let value = { (name: String) in record.queried(name, type) }
    guard condition.evaluate(type, value), moving(at: standpoint).evaluate(type, value) else { return false }
    return links.indices.allSatisfy { number in
      number < values.count && values[number].link(record.queried(links[number].field, type))
    }
  }

  /// Returns the windows as a condition on fields.
  package func moving(at standpoint: Standpoint) -> ConditionTree {
    var all = ConditionTree.all
    for window in subscription.windows {
      let moment = standpoint.now.addingClamped(window.offset)
      all = all && .compare(field: window.field, window.comparison, .date(moment))
    }
    if let circle = subscription.place {
      guard let centre = standpoint.place, centre.isOnEarth else { return .none }
      all = all && .near(field: circle.field, centre: centre, metres: circle.metres)
    }
    return all
  }

  /// Returns the whole condition on fields, without the container, for SQL and for queries.
  ///
  /// It has no limit of values. A field that is a list of references has a part for each value.
  package func resolved(at standpoint: Standpoint, links values: [LinkValues]) -> ConditionTree {
    var all = condition && moving(at: standpoint)
    guard let type else { return all }
    for (number, link) in links.enumerated() {
      let known = number < values.count ? values[number].sorted : []
      var linked = ConditionTree.none
      if case .references? = type[link.field]?.kind {
        linked = .or(known.filter { $0.text != nil }.map { ConditionTree.includes(field: link.field, $0) })
      } else if !known.isEmpty {
        linked = .oneOf(field: link.field, known)
      }
      all = all && linked
    }
    return all
  }

  /// Returns the records to which the subscription's references of a member lead.
  package func targets(of member: AnyRecord) -> [RecordID] {
    includes.flatMap { include -> [RecordID] in
      member[include.field].linked.compactMap { value in
        value.text.map { RecordID(type: include.type, id: $0) }
      }
    }
  }
}
