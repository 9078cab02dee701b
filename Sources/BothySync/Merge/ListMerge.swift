import BothyStore

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
