import BothyStore

/// The budget of the places and of the tiles that they came from.
extension NearbyMap {
  /// Protects the tiles of a run from evictions, also of other maps. Returns a number for `end`.
  func begin(_ plan: NearbyMapPlan) -> Int {
    coverNumber += 1
    covers[coverNumber] = plan.cover
    noteKept()
    return coverNumber
  }

  func end(_ cover: Int) {
    covers[cover] = nil
    noteKept()
  }

  func noteKept() {
    guard !isClosed else { return }
    let all = required.values.reduce(into: shown.tiles) { $0.formUnion($1) }
    places.keep(covers.values.reduce(into: all) { $0.formUnion($1) }, for: ObjectIdentifier(self))
  }

  /// Notes that these tiles are used, and deletes others beyond the budget.
  func keepBudget(_ used: [Tile]) async {
    noteKept()
    // The tiles are here, so a full disk doesn't fail this run. The next one tries again.
    try? await loading.keepBudget(settings.budget, used, at: clock.wall())
  }
}
