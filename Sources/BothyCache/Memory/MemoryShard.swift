/// A part of the memory tier: a table of entries and the order of their eviction, all in constant time.
///
/// `leastRecentlyUsed` and `firstIn` use one list, `main`. Under `scanResistant`, new entries wait in `small`, which
/// has a tenth of the budget. Entries that are read more than once there move to `main`, where each read delays their
/// eviction by a round. An entry that returns soon after its eviction (`ghosts`) is inserted into `main` directly.
struct MemoryShard<Key: Hashable & Sendable, Value: Sendable> {
  typealias Slot = MemorySlot<Key, Value>

  /// An evicted entry, with the time of its last read if `takeUses` has not reported it yet.
  struct Evicted {
    var key: Key
    var size: Int
    var usedAt: Int64?
  }

  private(set) var slots: ContiguousArray<Slot> = []
  private var places: [Key: Int32] = [:]
  private var free: [Int32] = []
  private var small = SlotList()
  private var main = SlotList()
  private var ghosts = GhostList()
  private var hits: ContiguousArray<(count: Int, bytes: Int64)> = []

  let maximumCost: Int
  let maximumCount: Int
  let largestCost: Int
  let order: MemoryLimits.Order

  init(maximumCost: Int, maximumCount: Int, largestCost: Int, order: MemoryLimits.Order) {
    self.maximumCost = maximumCost
    self.maximumCount = maximumCount
    self.largestCost = largestCost
    self.order = order
  }

  var count: Int { small.count + main.count }
  var cost: Int { small.cost + main.cost }

  /// Returns the value if it is accepted, and records the read. Allocates nothing once the group is known.
  mutating func read(_ key: Key, now: Int64, group: Int, if accepts: (Value) -> Bool = { _ in true })
    -> Value?
  {
    guard let place = places[key] else { return nil }
    let index = Int(place)
    guard let value = slots[index].value, accepts(value) else { return nil }
    slots[index].lastUsed = now
    slots[index].isUsed = true
    switch order {
    case .scanResistant: if slots[index].frequency < 3 { slots[index].frequency += 1 }
    case .leastRecentlyUsed:
      if main.first != place {
        unlink(place)
        link(place, inMain: true)
      }
    case .firstIn: break
    }
    while hits.count <= group { hits.append((0, 0)) }
    hits[group].count += 1
    hits[group].bytes += Int64(slots[index].size)
    return value
  }

  /// Returns the value without recording a read.
  func look(_ key: Key) -> Value? { places[key].flatMap { slots[Int($0)].value } }

  /// Replaces the key's value, or makes room and inserts it. Returns false if it is too large.
  mutating func put(_ key: Key, _ value: Value, cost: Int, size: Int, evicted: inout [Evicted]) -> Bool {
    guard cost <= largestCost, cost <= maximumCost else {
      if places[key] != nil { _ = remove(key) }
      return false
    }
    if let place = places[key] {
      let index = Int(place)
      change(cost: cost - slots[index].cost, inMain: slots[index].isInMain)
      slots[index].value = value
      slots[index].cost = cost
      slots[index].size = size
      if order == .leastRecentlyUsed, main.first != place {
        unlink(place)
        link(place, inMain: true)
      }
      makeRoom(cost: 0, count: 0, sparing: place, &evicted)
      return true
    }
    makeRoom(cost: cost, count: 1, sparing: -1, &evicted)
    let place = takeSlot(Slot(key: key, value: value, cost: cost, size: size))
    places[key] = place
    let returns = order == .scanResistant && ghosts.remove(key.hashValue)
    link(place, inMain: order != .scanResistant || returns)
    return true
  }

  mutating func remove(_ key: Key) -> Value? {
    guard let place = places.removeValue(forKey: key) else { return nil }
    let value = slots[Int(place)].value
    unlink(place)
    giveBack(place)
    return value
  }

  /// Evicts entries until the given part of the limits is left.
  mutating func trim(to share: Double, evicted: inout [Evicted]) {
    let cost = maximumCost.part(share)
    let count = maximumCount == .max ? Int.max : maximumCount.part(share)
    while self.count > 0, self.cost > cost || self.count > count || share <= 0 { evictOne(-1, &evicted) }
    if share <= 0 { ghosts.removeAll() }
  }

  /// Reports the entries that were read since the last call.
  mutating func takeUses(_ body: (Key, Int64) -> Void) {
    for index in slots.indices where slots[index].isUsed {
      slots[index].isUsed = false
      if slots[index].value != nil { body(slots[index].key, slots[index].lastUsed) }
    }
  }

  /// The number of reads and the returned bytes of each group.
  var tally: ContiguousArray<(count: Int, bytes: Int64)> { hits }

  // MARK: Making room

  private mutating func makeRoom(cost: Int, count: Int, sparing: Int32, _ evicted: inout [Evicted]) {
    while self.cost + cost > maximumCost || self.count + count > maximumCount {
      let before = self.count
      evictOne(sparing, &evicted)
      if self.count == before { return }
    }
  }

  /// Evicts one entry, unless the spared one is the only one.
  private mutating func evictOne(_ sparing: Int32, _ evicted: inout [Evicted]) {
    while true {
      let isSmallFull =
        small.cost >= maximumCost / 10 || small.count >= maximumCount / 10
      let fromSmall = small.count > 0 && (main.count == 0 || isSmallFull)
      let place = fromSmall ? small.last : main.last
      guard place >= 0 else { return }
      let index = Int(place)
      if place == sparing {
        if count == 1 { return }
        unlink(place)
        link(place, inMain: true)
        continue
      }
      if order == .scanResistant, slots[index].frequency > (fromSmall ? 1 : 0) {
        slots[index].frequency = fromSmall ? 0 : slots[index].frequency - 1
        unlink(place)
        link(place, inMain: true)
        continue
      }
      if fromSmall { ghosts.insert(slots[index].key.hashValue, limit: max(16, main.count)) }
      let slot = slots[index]
      evicted.append(Evicted(key: slot.key, size: slot.size, usedAt: slot.isUsed ? slot.lastUsed : nil))
      places[slot.key] = nil
      unlink(place)
      giveBack(place)
      return
    }
  }

  // MARK: Lists and slots

  private mutating func link(_ place: Int32, inMain: Bool) {
    let index = Int(place)
    var list = inMain ? main : small
    slots[index].isInMain = inMain
    slots[index].newer = -1
    slots[index].older = list.first
    if list.first >= 0 { slots[Int(list.first)].newer = place } else { list.last = place }
    list.first = place
    list.count += 1
    list.cost += slots[index].cost
    if inMain { main = list } else { small = list }
  }

  private mutating func unlink(_ place: Int32) {
    let (newer, older) = (slots[Int(place)].newer, slots[Int(place)].older)
    let inMain = slots[Int(place)].isInMain
    var list = inMain ? main : small
    if newer >= 0 { slots[Int(newer)].older = older } else { list.first = older }
    if older >= 0 { slots[Int(older)].newer = newer } else { list.last = newer }
    list.count -= 1
    list.cost -= slots[Int(place)].cost
    if inMain { main = list } else { small = list }
  }

  private mutating func change(cost: Int, inMain: Bool) {
    if inMain { main.cost += cost } else { small.cost += cost }
  }

  private mutating func takeSlot(_ slot: Slot) -> Int32 {
    if let place = free.popLast() {
      slots[Int(place)] = slot
      return place
    }
    slots.append(slot)
    return Int32(slots.count - 1)
  }

  private mutating func giveBack(_ place: Int32) {
    slots[Int(place)].value = nil
    slots[Int(place)].isUsed = false
    free.append(place)
  }
}
