import BothyProtocol
import BothyStore

/// A change of one record, as one user may see it before and after.
package struct SubscriptionChange: Sendable {
  /// The record before; `nil` if it is new or was hidden.
  package let before: AnyRecord?
  /// The record after; `nil` if it was deleted or is hidden.
  package let after: AnyRecord?

  /// Makes a change.
  package init(before: AnyRecord?, after: AnyRecord?) { (self.before, self.after) = (before, after) }

  /// The record, or `nil` if there is neither.
  package var id: RecordID? { (after ?? before)?.recordID }
}

/// A field by which subscriptions include other records.
package struct IncludingField: Sendable, Hashable {
  /// The type with the field.
  package let type: String
  /// The field that refers to the included records.
  package let field: String
}

/// An index over the conditions of subscriptions, which finds those that a change may concern.
///
/// It looks at a number of places that depends on the fields that conditions name, and not on the number of
/// subscriptions. A subscription is known by the values of up to two fields, or by a range of one, and then decided by
/// the reference evaluator. Conditions that only `contains`, `matches` or NOT could tell apart are decided one after
/// another.
///
/// Time needs no change of the index, because windows are ranges of the distance from now. All subscriptions are
/// checked in one schema.
package struct SubscriptionIndex<Key: Hashable & Sendable>: Sendable {
  private struct Entry: Sendable {
    var subscription: CheckedSubscription
    var links: [LinkValues]
    var place: Coordinate?
    var numbers: [Int] = []

    /// Returns true if the record belongs to the subscription by itself.
    func holds(_ record: AnyRecord?, at now: Int64) -> Bool {
      guard let record else { return false }
      return subscription.holds(record, at: Standpoint(now: now, place: place), links: links)
    }
  }

  /// A number in the places of a type: a subscription, or one of its links.
  private struct Slot: Sendable {
    var key: Key
    /// The number of the link, or `nil` for the subscription's own records.
    var link: Int?
    var type: String
    var places: [SubscriptionPlace]
  }

  /// The subscriptions that a change may concern.
  package struct Concern: Sendable {
    /// Those with a record that belonged before or belongs now: the changed one, or one that refers to it.
    package var keys: Set<Key> = []
    /// Those of which a link may have other values. Their links have to be read, and set by `relink(_:links:)`.
    package var linked: Set<Key> = []
    /// The number of groups, ranges and subscriptions that were looked at.
    package var examined = 0

    /// All of them.
    package var all: Set<Key> { keys.union(linked) }
  }

  /// The name of the places of subscriptions to all types. No type has it.
  private static var everyType: String { "" }

  private var entries: [Key: Entry] = [:]
  private var slots: [Int: Slot] = [:]
  private var types: [String: SubscriptionPlaces] = [:]
  /// The fields by which subscriptions include records, by the included type, with the number of subscriptions.
  private var includes: [String: [IncludingField: Int]] = [:]
  private var last = 0

  /// Makes an index without subscriptions.
  package init() {}

  /// The number of subscriptions.
  package var count: Int { entries.count }

  /// Adds a subscription, in place of one with this key.
  ///
  /// - Parameters:
  ///   - links: the values of its links now, in their order.
  ///   - place: the device's place, for a subscription with a circle.
  package mutating func add(
    _ subscription: CheckedSubscription, links: [LinkValues] = [], place: Coordinate? = nil, as key: Key
  ) {
    remove(key)
    var entry = Entry(subscription: subscription, links: links, place: place)
    let type = subscription.type
    let places = SubscriptionAccess.places(of: subscription, links: links, place: place)
    let own = Slot(key: key, type: type?.name ?? Self.everyType, places: places)
    entry.numbers.append(insert(own, type))
    for (number, link) in subscription.links.enumerated() {
      let places = SubscriptionAccess.places(of: link)
      let slot = Slot(key: key, link: number, type: link.type.name, places: places)
      entry.numbers.append(insert(slot, link.type))
    }
    entries[key] = entry
    guard let name = type?.name else { return }
    for include in subscription.includes {
      let field = IncludingField(type: name, field: include.field)
      includes[include.type, default: [:]][field, default: 0] += 1
    }
  }

  /// Removes a subscription. Does nothing for an unknown key.
  package mutating func remove(_ key: Key) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    for number in entry.numbers {
      guard let slot = slots.removeValue(forKey: number) else { continue }
      for place in slot.places { types[slot.type]?.remove(place, number) }
      if types[slot.type]?.isEmpty ?? false { types[slot.type] = nil }
    }
    guard let type = entry.subscription.type?.name else { return }
    for include in entry.subscription.includes {
      let field = IncludingField(type: type, field: include.field)
      guard let count = includes[include.type]?[field] else { continue }
      includes[include.type]?[field] = count > 1 ? count - 1 : nil
      if includes[include.type]?.isEmpty ?? false { includes[include.type] = nil }
    }
  }

  /// Sets the values of a subscription's links. Does nothing for an unknown key.
  package mutating func relink(_ key: Key, links: [LinkValues]) {
    guard let entry = entries[key], entry.links != links else { return }
    add(entry.subscription, links: links, place: entry.place, as: key)
  }

  /// Sets the device's place. Does nothing for an unknown key.
  package mutating func move(_ key: Key, to place: Coordinate?) {
    guard let entry = entries[key], entry.place != place else { return }
    add(entry.subscription, links: entry.links, place: place, as: key)
  }

  private mutating func insert(_ slot: Slot, _ type: TypeSchema?) -> Int {
    last += 1
    slots[last] = slot
    for place in slot.places {
      types[slot.type, default: SubscriptionPlaces(of: type)].insert(place, last)
    }
    return last
  }

  // MARK: changes

  /// Returns the fields by which any subscription includes records of a type, with the types that have them.
  ///
  /// A change of such a record may concern the subscriptions of those that refer to it.
  package func includingFields(of type: String) -> Set<IncludingField> {
    Set((includes[type] ?? [:]).keys)
  }

  /// Returns the subscriptions that a change may concern.
  ///
  /// Each whose records differ before and after is among them, and each that the record belongs to, at `now`. Links
  /// have the values of before the change.
  ///
  /// - Parameter referrers: the records that refer to the changed one by `includingFields(of:)`.
  package func concerned(
    by change: SubscriptionChange, at now: Int64, referrers: [AnyRecord] = []
  ) -> Concern {
    var concern = Concern()
    var seen: Set<Int> = []
    for record in [change.before, change.after].compactMap({ $0 }) {
      for number in numbers(for: record, at: now, &concern) where seen.insert(number).inserted {
        guard let slot = slots[number], let entry = entries[slot.key] else { continue }
        concern.examined += 1
        if let link = slot.link {
          if entry.subscription.links[link].isChanged(by: change) { concern.linked.insert(slot.key) }
        } else if entry.holds(change.before, at: now) || entry.holds(change.after, at: now) {
          concern.keys.insert(slot.key)
        }
      }
    }
    guard let id = change.id else { return concern }
    for record in referrers {
      for number in numbers(for: record, at: now, &concern) {
        guard let slot = slots[number], slot.link == nil, let entry = entries[slot.key] else { continue }
        concern.examined += 1
        if entry.subscription.targets(of: record).contains(id), entry.holds(record, at: now) {
          concern.keys.insert(slot.key)
        }
      }
    }
    return concern
  }

  private func numbers(for record: AnyRecord, at now: Int64, _ concern: inout Concern) -> Set<Int> {
    var found: Set<Int> = []
    for name in [record.type, Self.everyType] {
      guard let places = types[name] else { continue }
      found.formUnion(places.numbers(for: record, at: now, examined: &concern.examined))
    }
    return found
  }
}

extension CheckedSubscription.Link {
  /// Returns true if the record gives other values after the change than before.
  fileprivate func isChanged(by change: SubscriptionChange) -> Bool {
    let before = Set(change.before.map { values(of: $0) } ?? [])
    return before != Set(change.after.map { values(of: $0) } ?? [])
  }
}
