import BothyStore
import Crypto

/// The description of records that a device keeps: of one type that meet conditions, or all of a container.
///
/// It never changes, and has no state. All conditions must hold. Names of types and fields are those of the wire.
/// `resolved(at:links:in:)` makes one plain condition of it. Equal descriptions have equal bytes and one `id`, in
/// whatever order their parts were written.
package struct Subscription: Sendable {
  /// The type of the records; `nil` for the records of all types in a container.
  package let type: String?
  /// The container of the records; `nil` for every container.
  package let container: String?
  /// True if the containers below `container` count too.
  package let includesChildren: Bool
  /// The condition on the record itself; `.all` without one.
  package let condition: ConditionTree
  /// The conditions on other records that the record is linked with.
  package let links: [Link]
  /// The conditions that move with time.
  package let windows: [Window]
  /// The condition that moves with the device, or `nil`.
  package let place: Circle?
  /// The reference fields whose targets belong to the subscription too.
  package let includes: [String]
  /// The description as JSON in its canonical form, in UTF-8.
  package let canonical: [UInt8]
  /// The digest of the canonical form, in 32 hexadecimal digits.
  package let id: String

  /// A link: a live record of another type, or of this one, has the value of the record's field.
  package struct Link: Sendable, Hashable {
    /// The record's field. One element is enough in a list of references.
    package let field: String
    /// The type of the link records.
    package let type: String
    /// The link record's field that has the value, as an element if it is a list of references.
    package let target: String
    /// The condition on the link record; `.all` without one.
    package let condition: ConditionTree

    /// Makes a link, by default with any record of the type.
    package init(
      _ field: String, isIn target: String, of type: String, where condition: ConditionTree = .all
    ) {
      (self.field, self.type, self.target, self.condition) = (field, type, target, condition)
    }
  }

  /// A window of time: a field compared with a moment that moves.
  package struct Window: Sendable, Hashable {
    /// The field with a date.
    package let field: String
    /// One of the comparisons that have an order.
    package let comparison: ConditionTree.Comparison
    /// The milliseconds from now to the moment, negative before now.
    package let offset: Int64

    /// Makes a window. `Window("start", .greater, than: -604_800_000)` has the last seven days, and what comes.
    package init(_ field: String, _ comparison: ConditionTree.Comparison, than offset: Int64) {
      (self.field, self.comparison, self.offset) = (field, comparison, offset)
    }
  }

  /// A window of place: a circle whose centre moves with the device.
  package struct Circle: Sendable, Hashable {
    /// The field with a coordinate.
    package let field: String
    /// The radius on the great circle.
    package let metres: Double

    /// Makes a circle. The radius is finite, and 0 or more.
    package init(_ field: String, metres: Double) { (self.field, self.metres) = (field, metres) }
  }

  /// The most bytes of the canonical form. A list of 10,000 ids has room.
  package static let longest = 512 << 10
  /// The most links, and the most windows.
  package static let partLimit = 8
  /// The most included fields.
  package static let includeLimit = 16
  /// The most milliseconds of a window's offset, about 285,000 years. Times near now don't overflow with it.
  package static let offsetLimit: Int64 = 1 << 53

  /// Makes the description of records of one type.
  ///
  /// A container without a name that includes its children is every container. Throws `BothyError` `invalidQuery` for a
  /// description that is too large, or that has a part without a meaning. Fields aren't checked; see `checked(in:)`.
  package init(
    _ type: String, container: String? = nil, includesChildren: Bool = false,
    where condition: ConditionTree = .all, through links: [Link] = [], windows: [Window] = [],
    place: Circle? = nil, including includes: [String] = []
  ) throws(BothyError) {
    try self.init(
      type: type, container: container, includesChildren: includesChildren, condition: condition,
      links: links, windows: windows, place: place, includes: includes)
  }

  /// Makes the description of a container, with the records of all types in it.
  package init(_ scope: SyncScope) throws(BothyError) {
    try self.init(
      type: nil, container: scope.container, includesChildren: scope.includesChildren, condition: .all,
      links: [], windows: [], place: nil, includes: [])
  }

  init(
    type: String?, container: String?, includesChildren: Bool, condition: ConditionTree, links: [Link],
    windows: [Window], place: Circle?, includes: [String]
  ) throws(BothyError) {
    let isEverywhere = container == nil || (type != nil && container == "" && includesChildren)
    self.type = type
    self.container = isEverywhere ? nil : container
    self.includesChildren = isEverywhere ? false : includesChildren
    self.condition = try condition.canonical()
    var ownLinks: [Link] = []
    for link in links {
      ownLinks.append(
        Link(link.field, isIn: link.target, of: link.type, where: try link.condition.canonical()))
    }
    self.links = ownLinks.sortedWithoutRepetition(by: \.json)
    self.windows = windows.sortedWithoutRepetition(by: \.json)
    self.place = place
    self.includes = includes.sortedWithoutRepetition { .string($0) }
    canonical = Array(
      Self.document(
        type, self.container, self.includesChildren, self.condition, self.links, self.windows, place,
        self.includes
      ).canonicalText.utf8)
    id = SHA256.hash(data: canonical).prefix(16).hexadecimal
    try checkForm()
  }

  /// Throws if a part has no meaning, or if there are too many.
  private func checkForm() throws(BothyError) {
    guard canonical.count <= Self.longest else {
      throw BothyError(
        .invalidQuery,
        "The subscription has \(canonical.count) bytes, and at most \(Self.longest) are allowed. Use fewer values, "
          + "or a link.")
    }
    let isSmall = links.count <= Self.partLimit && windows.count <= Self.partLimit
    guard isSmall, includes.count <= Self.includeLimit else {
      throw BothyError(
        .invalidQuery,
        "A subscription has at most \(Self.partLimit) links, \(Self.partLimit) windows and \(Self.includeLimit) "
          + "included fields. Divide it into several.")
    }
    if let window = windows.first(where: { [.equal, .notEqual].contains($0.comparison) }) {
      throw BothyError(
        .invalidQuery,
        "The window of '\(window.field)' is compared by '\(window.comparison.rawValue)'. Use <, <=, > or >=.")
    }
    if let window = windows.first(where: { $0.offset.magnitude > Self.offsetLimit.magnitude }) {
      throw BothyError(
        .invalidQuery,
        "The window of '\(window.field)' is \(window.offset) milliseconds from now. Use at most 2^53.")
    }
    if let place, !(place.metres >= 0 && place.metres.isFinite) {
      throw BothyError(
        .invalidQuery, "The circle of '\(place.field)' needs a radius of 0 metres or more.")
    }
    if let type {
      guard !type.isEmpty else {
        throw BothyError(.invalidQuery, "A subscription names a type, or a container alone.")
      }
      return
    }
    let isPlain = condition == .all && links.isEmpty && windows.isEmpty && place == nil
    guard container != nil, isPlain, includes.isEmpty else {
      throw BothyError(
        .invalidQuery, "Without a type, a subscription has a container and nothing else. Name the type.")
    }
  }
}

extension Subscription {
  /// The container as a scope, or `nil` for every container.
  package var scope: SyncScope? {
    container.map { SyncScope(container: $0, includesChildren: includesChildren) }
  }
}

extension Subscription: Hashable {
  /// Returns true if the canonical forms are equal.
  package static func == (left: Subscription, right: Subscription) -> Bool {
    left.canonical == right.canonical
  }

  /// Hashes the id.
  package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
