/// A three-way merge of texts by lines, by the rule of diff3. Lines that one side changed are that side's, and lines
/// that both changed alike occur once. If both changed lines differently, both forms are kept, the server's first.
///
/// If both sides only added to the same lines, their additions are inserted by characters. See Khanna, Kunal and
/// Pierce, "A Formal Investigation of Diff3", FSTTCS 2007.
enum TextMerge {
  static func merge(base: String, mine: String, theirs: String) -> String {
    let base = lines(base)
    let merged = ThreeWayMerge(base: base, mine: lines(mine), theirs: lines(theirs)).merged {
      resolve(base: $0, mine: $1, theirs: $2)
    }
    return merged.joined(separator: "\n")
  }

  /// Returns the lines of a text, none for an empty one.
  private static func lines(_ text: String) -> [Substring] {
    text.isEmpty ? [] : text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The most characters of a stretch that are compared one by one.
  private static let characterLimit = 2000

  /// Returns both forms of a stretch without the lines that either side removed, each line once.
  private static func resolve(base: [Substring], mine: [Substring], theirs: [Substring]) -> [Substring] {
    if let joined = joined(base, mine, theirs) { return joined }
    let (before, own, others) = (Set(base), Set(mine), Set(theirs))
    return theirs.filter { !before.contains($0) || own.contains($0) }
      + mine.filter { !before.contains($0) && !others.contains($0) }
  }

  /// Returns the lines with the additions of both sides. Returns `nil` if one side did more than add at a place that
  /// the other side changed too.
  private static func joined(_ base: [Substring], _ mine: [Substring], _ theirs: [Substring]) -> [Substring]?
  {
    guard base.contains(where: { !$0.isEmpty }), base.count == mine.count, base.count == theirs.count else {
      return nil
    }
    func characters(_ lines: [Substring]) -> [Character] { Array(lines.joined(separator: "\n")) }
    let (before, own, others) = (characters(base), characters(mine), characters(theirs))
    guard max(before.count, own.count, others.count) <= characterLimit else { return nil }
    var isClear = true
    let merge = ThreeWayMerge(base: before, mine: own, theirs: others, joinsNeighbours: true)
    let merged = merge.merged { base, mine, theirs in
      isClear = isClear && base.isEmpty
      return theirs + mine
    }
    return isClear
      ? String(merged).split(separator: "\n", omittingEmptySubsequences: false) : nil
  }
}

/// The stretches of a sequence that each of two sides changed.
struct ThreeWayMerge<Element: Hashable> {
  let base: [Element]
  let mine: [Element]
  let theirs: [Element]
  /// True if changes that touch each other count as one.
  var joinsNeighbours = false

  /// A stretch of the base, and its replacement.
  private struct Hunk {
    var old: Range<Int>
    var new: Range<Int>
  }

  /// Returns the merge. `resolve` receives each stretch that both sides changed differently: the base's, the local and
  /// the server's.
  func merged(
    _ resolve: (_ base: [Element], _ mine: [Element], _ theirs: [Element]) -> [Element]
  ) -> [Element] {
    var own = Self.hunks(base, mine)[...]
    var others = Self.hunks(base, theirs)[...]
    var result: [Element] = []
    var position = 0
    while let start = [own.first?.old.lowerBound, others.first?.old.lowerBound].compactMap(\.self).min() {
      result += base[position..<start]
      var end = start
      var (here, there): ([Hunk], [Hunk]) = ([], [])
      // One stretch includes all that overlaps it, of either side.
      while true {
        if let hunk = own.first, belongs(hunk, start, end, isFirst: here.isEmpty && there.isEmpty) {
          here.append(own.removeFirst())
          end = max(end, hunk.old.upperBound)
        } else if let hunk = others.first, belongs(hunk, start, end, isFirst: here.isEmpty && there.isEmpty) {
          there.append(others.removeFirst())
          end = max(end, hunk.old.upperBound)
        } else {
          break
        }
      }
      let (one, other) = (content(here, mine, start, end), content(there, theirs, start, end))
      result +=
        there.isEmpty
        ? one : here.isEmpty || one == other ? other : resolve(Array(base[start..<end]), one, other)
      position = end
    }
    return result + base[position...]
  }

  private func belongs(_ hunk: Hunk, _ start: Int, _ end: Int, isFirst: Bool) -> Bool {
    if isFirst { return hunk.old.lowerBound == start }
    if joinsNeighbours { return hunk.old.lowerBound <= end }
    return hunk.old.lowerBound < end || (hunk.old.lowerBound == start && start == end)
  }

  /// Returns a side's replacement of a stretch of the base.
  private func content(_ hunks: [Hunk], _ side: [Element], _ start: Int, _ end: Int) -> [Element] {
    var result: [Element] = []
    var position = start
    for hunk in hunks {
      result += base[position..<hunk.old.lowerBound]
      result += side[hunk.new]
      position = hunk.old.upperBound
    }
    return result + base[position..<end]
  }

  /// The most elements on both sides together that are compared. Above this, everything between the common beginning
  /// and end is one hunk, because comparing it takes seconds.
  private static var limit: Int { 4000 }

  private static func hunks(_ old: [Element], _ new: [Element]) -> [Hunk] {
    let prefix = zip(old, new).prefix { $0 == $1 }.count
    let rest = min(old.count, new.count) - prefix
    let suffix = zip(old.reversed(), new.reversed()).prefix(rest).prefix { $0 == $1 }.count
    let (oldEnd, newEnd) = (old.count - suffix, new.count - suffix)
    if prefix == oldEnd && prefix == newEnd { return [] }
    guard oldEnd - prefix + newEnd - prefix <= limit else {
      return [Hunk(old: prefix..<oldEnd, new: prefix..<newEnd)]
    }
    let difference = new[prefix..<newEnd].difference(from: old[prefix..<oldEnd])
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(prefix + offset)
      case .insert(let offset, _, _): inserted.insert(prefix + offset)
      }
    }
    var hunks: [Hunk] = []
    var (here, there) = (prefix, prefix)
    while here < oldEnd || there < newEnd {
      let (oldStart, newStart) = (here, there)
      while removed.contains(here) || inserted.contains(there) {
        if removed.contains(here) { here += 1 } else { there += 1 }
      }
      if here > oldStart || there > newStart {
        hunks.append(Hunk(old: oldStart..<here, new: newStart..<there))
      }
      if here < oldEnd || there < newEnd {
        here += 1
        there += 1
      }
    }
    return hunks
  }
}
